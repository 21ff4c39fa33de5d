//! Kernels of both sides by name: which are new, which are gone, which take longer.

use crate::analysis::compare::figure::{self, Answer, Figure};
use crate::analysis::compare::sample::{Sample, SampleKernel};
use crate::analysis::sums::stats::round6;

/// Steps of each side that a kernel's answer needs.
const FEWEST: usize = 6;
/// Share of the work that both sides have from which it is one program.
const ONE_PROGRAM: f64 = 0.5;

/// Whether both sides launch kernels of a name.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Presence {
    /// Only after.
    New,
    /// Only before.
    Gone,
    /// On both sides.
    Both,
}

impl Presence {
    /// The name in reports.
    #[must_use]
    pub fn key(self) -> &'static str {
        match self {
            Self::New => "new",
            Self::Gone => "gone",
            Self::Both => "both",
        }
    }
}

/// Kernels of one name on both sides, over the judged cycles of each. Concurrent ones count each.
#[derive(Clone, Debug, PartialEq)]
pub struct KernelRow {
    /// The normalised name.
    pub name: String,
    /// Operations before and after.
    pub count: [u64; 2],
    /// Sums of durations before and after, ns.
    pub time: [i64; 2],
    /// Which sides have it.
    pub state: Presence,
    /// Its time per step, compared.
    pub figure: Option<Figure>,
}

/// Kernels of both sides.
#[derive(Clone, Debug, PartialEq)]
pub struct Kernels {
    /// Share of the operations per step that both sides have, by name; `None` without any.
    pub common_work: Option<f64>,
    /// The one whose time per step changed most first.
    pub rows: Vec<KernelRow>,
}

impl Kernels {
    /// Both sides run the same program, as far as the names of its kernels tell.
    #[must_use]
    pub fn one_program(&self) -> bool {
        self.common_work.is_none_or(|c| c >= ONE_PROGRAM)
    }

    /// Distinct names of a side: 0 before, 1 after.
    #[must_use]
    pub fn names(&self, side: usize) -> usize {
        self.rows.iter().filter(|r| r.count[side] > 0).count()
    }
}

/// Compares the kernels of a rank. `sides`: its sample in each recording.
pub(super) fn compare(sides: [&[&Sample]; 2], limit: i64, alpha: f64) -> Kernels {
    let steps = sides.map(|s| s.iter().map(|r| r.rows.len()).sum::<usize>());
    let [m, n] = steps.map(|s| s as u128);
    let mut names: Vec<&str> = sides
        .iter()
        .flat_map(|s| s.iter())
        .flat_map(|r| r.kernels.iter().map(|k| k.name.as_str()))
        .collect();
    names.sort_unstable();
    names.dedup();
    let (mut common, mut all) = (0_u128, 0_u128);
    let mut rows: Vec<KernelRow> = Vec::with_capacity(names.len());
    for name in names {
        let found = sides.map(|s| s.iter().map(|r| of_name(r, name)).collect::<Vec<_>>());
        let count = found
            .each_ref()
            .map(|s| s.iter().flatten().map(|k| k.count).sum());
        let time = found.each_ref().map(|s| {
            let times = s.iter().flatten().map(|k| k.time);
            times.fold(0, i64::saturating_add)
        });
        // Per step, times m·n.
        let per = [u128::from(count[0]) * n, u128::from(count[1]) * m];
        common += per[0].min(per[1]);
        all += per[0].max(per[1]);
        let state = match count {
            [0, _] => Presence::New,
            [_, 0] => Presence::Gone,
            _ => Presence::Both,
        };
        rows.push(KernelRow {
            name: name.to_owned(),
            count,
            time,
            state,
            figure: None,
        });
    }
    #[expect(clippy::cast_precision_loss, reason = "a share")]
    let common_work = (all > 0).then(|| round6(common as f64 / all as f64));
    let mut out = Kernels { common_work, rows };
    if let [[before], [after]] = sides
        && out.one_program()
        && steps.iter().all(|&s| s >= FEWEST)
        && before.kernels_by_cycle
        && after.kernels_by_cycle
    {
        answer(&mut out.rows, before, after, limit, alpha);
    }
    let change = |r: &KernelRow| {
        let per = |side: usize, steps: usize| i128::from(r.time[side]) * steps as i128;
        (per(1, steps[0]) - per(0, steps[1])).unsigned_abs()
    };
    // Names ascend already.
    out.rows.sort_by_key(|r| std::cmp::Reverse(change(r)));
    out
}

fn of_name<'a>(sample: &'a Sample, name: &str) -> Option<&'a SampleKernel> {
    let found = sample
        .kernels
        .binary_search_by(|k| k.name.as_str().cmp(name));
    found.ok().map(|i| &sample.kernels[i])
}

/// Answers for the kernels that both sides have, as one family.
fn answer(rows: &mut [KernelRow], before: &Sample, after: &Sample, limit: i64, alpha: f64) {
    let series = |sample: &Sample, name: &str| {
        let mut out = vec![0; sample.rows.len()];
        for &(cycle, time) in of_name(sample, name).iter().flat_map(|k| &k.by_cycle) {
            if let Some(slot) = out.get_mut(cycle as usize) {
                *slot = time;
            }
        }
        Some(vec![out])
    };
    let both = rows.iter_mut().filter(|r| r.state == Presence::Both);
    for row in both {
        let values = [series(before, &row.name), series(after, &row.name)];
        row.figure = Some(Figure::measure(row.name.as_str(), values, limit, None));
    }
    let mut asked: Vec<&mut Figure> = rows.iter_mut().filter_map(|r| r.figure.as_mut()).collect();
    figure::family(&mut asked, alpha);
    for figure in asked {
        figure.conclude();
    }
}

impl KernelRow {
    /// What may be said of its time per step.
    #[must_use]
    pub fn answer(&self) -> Option<Answer> {
        self.figure.as_ref().map(|f| f.answer)
    }
}
