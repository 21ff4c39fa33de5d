//! What the args of one operation of communication say of it: its group, its kind, its size, its number.

use super::kinds::{CollectiveKind, NotCompared, element_size, ends_together};
use super::matching::CommGroup;

/// Args of an operation of communication.
#[derive(Default)]
pub(in crate::analysis) struct Recorded {
    collective: Option<String>,
    group: Option<String>,
    ranks: Option<String>,
    size: Option<String>,
    elements: Option<String>,
    dtype: Option<String>,
    number: Option<String>,
    splits: [Option<String>; 2],
}

impl Recorded {
    /// Those of one operation.
    pub fn read(arg: &dyn Fn(&str) -> Option<String>) -> Self {
        let text = |key: &str| arg(key).filter(|t| !t.is_empty());
        Self {
            collective: text("Collective name"),
            group: text("Process Group Name"),
            ranks: text("Process Group Ranks"),
            size: text("Group size"),
            elements: text("In msg nelems"),
            dtype: text("dtype"),
            number: text("Seq").or_else(|| text("seq")),
            splits: [text("In split size"), text("Out split size")],
        }
    }

    /// Bytes that one rank puts in; -1 where unknown.
    pub fn bytes(&self) -> i64 {
        let of = || {
            let elements: i64 = self.elements.as_ref()?.parse().ok()?;
            let size = element_size(self.dtype.as_ref()?)?;
            elements.checked_mul(size).filter(|&b| b > 0)
        };
        of().unwrap_or(-1)
    }

    /// The group that it is of.
    pub fn group(&self) -> CommGroup {
        let Some(name) = &self.group else {
            return CommGroup::default();
        };
        let ranks = self.ranks.as_deref().unwrap_or("");
        CommGroup {
            name: format!("{name} {ranks}").trim().to_owned(),
            members: numbers(ranks),
        }
    }

    /// Its number within the group.
    pub fn number(&self) -> Option<i64> {
        self.number.as_ref()?.parse().ok()
    }

    /// The kind of an operation, or why it is not compared.
    pub fn kind(
        &self,
        name: &str,
        gpu: bool,
        around: impl FnOnce() -> Option<CollectiveKind>,
    ) -> Result<CollectiveKind, NotCompared> {
        let called = self.collective.as_deref().unwrap_or(name);
        let known = self.collective.is_some() || !gpu || ends_together(name);
        let mut kind = CollectiveKind::of(called).filter(|_| known);
        let why = NotCompared::of(called);
        if kind.is_none() && known {
            let all_to_all = |k: &CollectiveKind| *k == CollectiveKind::AllToAll;
            kind = around().filter(|k| why == NotCompared::OneSided || all_to_all(k));
            // A broadcast inside an all-reduce's range is still a broadcast.
            let one_sided = ["broadcast", "gather", "scatter", "_reduce_"];
            let plain = called.to_ascii_lowercase();
            if one_sided.iter().any(|w| plain.contains(w)) {
                kind = None;
            }
        }
        let kind = kind.ok_or(why)?;
        if self.size.as_deref() == Some("1") {
            return Err(NotCompared::Alone);
        }
        let empty = self.splits.iter().flatten().any(|s| has_zero(s));
        match kind == CollectiveKind::AllToAll && empty {
            true => Err(NotCompared::EmptySplit),
            false => Ok(kind),
        }
    }
}

/// The numbers of a list `[0, 1, 2]`, ascending; `None` where it is none, or was cut (`[0, 1, ...]`).
fn numbers(list: &str) -> Option<Vec<u32>> {
    let inner = list.trim().strip_prefix('[')?.strip_suffix(']')?;
    let parts = inner.split(',').map(str::trim).filter(|p| !p.is_empty());
    let mut out = parts
        .map(|p| p.parse().ok())
        .collect::<Option<Vec<u32>>>()?;
    out.sort_unstable();
    out.dedup();
    (!out.is_empty()).then_some(out)
}

/// Whether a list of sizes has a zero.
fn has_zero(list: &str) -> bool {
    let words = list.split(|c: char| !c.is_ascii_alphanumeric() && c != '_');
    words.into_iter().any(|w| w == "0")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn lists_are_read_where_they_are_whole() {
        assert_eq!(numbers("[3, 1,2]"), Some(vec![1, 2, 3]));
        assert_eq!(numbers("[0, 1, ...]"), None);
        assert_eq!(numbers("[]"), None);
        assert_eq!(numbers(""), None);
        assert!(has_zero("[4, 0]"));
        assert!(!has_zero("[10, 40]"));
    }

    #[test]
    fn sends_count_only_inside_an_all_to_all() {
        let plain = Recorded::default();
        let send = "ncclDevKernel_SendRecv(ncclDevKernelArgsStorage<4096ul>)";
        let of = |around| plain.kind(send, true, || around);
        assert_eq!(of(None), Err(NotCompared::SendReceive));
        assert_eq!(
            of(Some(CollectiveKind::AllReduce)),
            Err(NotCompared::SendReceive)
        );
        assert_eq!(
            of(Some(CollectiveKind::AllToAll)),
            Ok(CollectiveKind::AllToAll)
        );
        let named = Recorded {
            collective: Some("all_to_allv".to_owned()),
            splits: [Some("[8, 8]".to_owned()), None],
            ..Recorded::default()
        };
        assert_eq!(
            named.kind(send, true, || None),
            Ok(CollectiveKind::AllToAll)
        );
        let empty = Recorded {
            splits: [Some("[8, 0]".to_owned()), None],
            ..named
        };
        assert_eq!(
            empty.kind(send, true, || None),
            Err(NotCompared::EmptySplit)
        );
    }

    #[test]
    fn what_not_every_rank_waits_for_is_left_out() {
        let plain = Recorded::default();
        let of = |name| plain.kind(name, true, || Some(CollectiveKind::AllReduce));
        assert_eq!(
            of("ncclDevKernel_Broadcast_RING_LL"),
            Err(NotCompared::OneSided)
        );
        assert_eq!(
            of("ncclDevKernel_Reduce_Sum_f32"),
            Err(NotCompared::OneSided)
        );
        assert_eq!(of("nvshmem_allreduce"), Err(NotCompared::OneSided));
        // The library's generic kernel inside its own range.
        assert_eq!(of("ncclDevKernel_Generic"), Ok(CollectiveKind::AllReduce));
        let alone = Recorded {
            size: Some("1".to_owned()),
            ..Recorded::default()
        };
        let of = alone.kind("ncclDevKernel_AllReduce", true, || None);
        assert_eq!(of, Err(NotCompared::Alone));
    }

    #[test]
    fn bytes_need_a_count_and_a_known_type() {
        let of = |elements: &str, dtype: &str| Recorded {
            elements: Some(elements.to_owned()),
            dtype: Some(dtype.to_owned()),
            ..Recorded::default()
        };
        assert_eq!(of("1000", "Float").bytes(), 4000);
        assert_eq!(of("1000", "Odd").bytes(), -1);
        assert_eq!(of("0", "Float").bytes(), -1);
        assert_eq!(of("1.5", "Float").bytes(), -1);
    }
}
