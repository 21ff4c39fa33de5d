//! Counts of what was odd about an input, by reason, each with its first places.

use super::report::{Fact, ImportReport, Place};
use crate::model::{ArgsRef, SourceId};
use crate::time::format_count;

/// The reasons of an importer: of each what it is, its kind, its machine name and its text (see [`Count::note`]).
macro_rules! reasons {
    (
        $(#[$about:meta])*
        $vis:vis enum $name:ident {
            $($(#[$what:meta])* $reason:ident: $kind:ident, $code:literal, $text:literal;)*
        }
    ) => {
        $(#[$about])*
        #[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
        $vis enum $name {
            $($(#[$what])* $reason,)*
        }

        impl $name {
            /// Kind, machine name and text.
            $vis fn texts(self) -> (NoticeKind, &'static str, &'static str) {
                match self {
                    $(Self::$reason => (NoticeKind::$kind, $code, $text),)*
                }
            }
        }
    };
}
pub(crate) use reasons;

/// Places that are kept of each reason.
const PLACES: usize = 3;

/// How often something was found, and where first.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct Count {
    /// How often.
    pub n: u64,
    /// The first places, as far as they are known.
    pub places: Vec<Place>,
}

impl Count {
    /// Counts one more; its place is asked for where it is one of the first.
    #[inline]
    pub fn add(&mut self, place: impl FnOnce() -> Place) {
        self.n += 1;
        if self.places.len() < PLACES {
            self.places.push(place());
        }
    }

    /// Counts one more, whose place is that of its args, if it has any.
    pub fn add_args(&mut self, args: ArgsRef) {
        self.n += 1;
        if let Some((offset, _)) = args.as_text()
            && self.places.len() < PLACES
        {
            self.places.push(Place::Byte(offset));
        }
    }

    /// Writes the notice. `one|many|what` says what was skipped: a sentence is made of it that names count and places
    /// itself. Any other text is that of the notice.
    pub fn note(
        &self,
        report: &mut ImportReport,
        source: Option<SourceId>,
        fact: impl Into<Fact>,
        code: &'static str,
        text: &str,
    ) {
        match self.skipped(text) {
            Some(whole) => report.note_whole(fact, code, source, self.n, &self.places, whole),
            None => report.note_many(fact, code, source, self.n, &self.places, || text.to_owned()),
        }
    }

    /// `312 events had no duration and were skipped (first: byte 4,120).` of `event|events|had no duration`.
    pub fn skipped(&self, parts: &str) -> Option<String> {
        let mut parts = parts.split('|');
        let (one, many, what) = (parts.next()?, parts.next()?, parts.next()?);
        let (noun, were) = match self.n {
            1 => (one, "was"),
            _ => (many, "were"),
        };
        let place = match self.places.first() {
            Some(first) if self.n > 1 => format!(" (first: {first})"),
            Some(first) => format!(" ({first})"),
            None => String::new(),
        };
        let n = format_count(self.n);
        Some(format!("{n} {noun} {what} and {were} skipped{place}."))
    }
}

/// Counts by reason, in the order of those.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Tally<R>(Vec<(R, Count)>);

impl<R> Default for Tally<R> {
    fn default() -> Self {
        Self(Vec::new())
    }
}

impl<R: Copy + Ord> Tally<R> {
    fn entry(&mut self, reason: R) -> &mut Count {
        // Few reasons are met in one input.
        let found = self.0.binary_search_by_key(&reason, |e| e.0);
        let at = found.unwrap_or_else(|at| {
            self.0.insert(at, (reason, Count::default()));
            at
        });
        &mut self.0[at].1
    }

    /// Counts one more; its place is asked for where it is one of the first.
    pub fn add(&mut self, reason: R, place: impl FnOnce() -> Place) {
        self.entry(reason).add(place);
    }

    /// Counts `n` more, of which one place is known or none.
    pub fn add_many(&mut self, reason: R, n: u64, place: Option<Place>) {
        if n > 0 {
            let count = self.entry(reason);
            count.n += n;
            let room = PLACES - count.places.len();
            count.places.extend(place.into_iter().take(room));
        }
    }

    /// Adds what was counted further on.
    pub fn take(&mut self, next: Self) {
        for (reason, more) in next.0 {
            let count = self.entry(reason);
            count.n += more.n;
            let room = PLACES - count.places.len();
            count.places.extend(more.places.into_iter().take(room));
        }
    }

    /// Takes back what was counted last, which will be counted again.
    pub fn forget(&mut self, last: &Self) {
        for (reason, Count { n, .. }) in &last.0 {
            let count = self.entry(*reason);
            count.n = count.n.saturating_sub(*n);
            let left = usize::try_from(count.n).unwrap_or(usize::MAX);
            count.places.truncate(left);
        }
    }

    /// Takes back one, which was counted at this place.
    pub fn take_back(&mut self, reason: R, place: Place) {
        let count = self.entry(reason);
        count.n = count.n.saturating_sub(1);
        count.places.retain(|p| *p != place);
    }

    /// Takes back all of a reason.
    pub fn clear(&mut self, reason: R) {
        *self.entry(reason) = Count::default();
    }

    /// The lines were counted from this one on.
    pub fn move_lines(&mut self, by: u64) {
        for place in self.0.iter_mut().flat_map(|e| &mut e.1.places) {
            if let Place::Line(line) = place {
                *line += by;
            }
        }
    }

    /// The count of a reason, where there is one.
    pub fn get(&self, reason: R) -> Option<&Count> {
        let at = self.0.binary_search_by_key(&reason, |e| e.0).ok()?;
        Some(&self.0[at].1)
    }

    /// How many of a reason.
    pub fn count(&self, reason: R) -> u64 {
        self.get(reason).map_or(0, |c| c.n)
    }

    /// True where nothing was counted.
    pub fn is_empty(&self) -> bool {
        self.0.iter().all(|e| e.1.n == 0)
    }

    /// All counts.
    pub fn counts(&self) -> &[(R, Count)] {
        &self.0
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn at(n: u64) -> impl Fn() -> Place {
        move || Place::Byte(n)
    }

    #[test]
    fn counts_keep_the_first_three_places() {
        let (mut a, mut b) = (Tally::default(), Tally::default());
        a.add('y', at(10));
        a.add('x', at(20));
        for n in [30, 40, 50] {
            b.add('y', at(n));
        }
        b.add_many('z', 7, None);
        a.take(b);
        let counts: Vec<_> = a.counts().iter().map(|(r, c)| (*r, c.n)).collect();
        assert_eq!(counts, [('x', 1), ('y', 4), ('z', 7)]);
        let places = a.get('y').map(|c| c.places.clone());
        assert_eq!(places, Some(vec![at(10)(), at(30)(), at(40)()]));
        assert_eq!(a.get('v'), None);
    }

    #[test]
    fn what_is_taken_back_leaves_its_place() {
        let mut a = Tally::default();
        for n in 0..3 {
            a.add('x', at(n));
        }
        let mut last = Tally::default();
        last.add('x', at(2));
        a.forget(&last);
        a.take_back('x', at(0)());
        let left = Count {
            n: 1,
            places: vec![at(1)()],
        };
        assert_eq!(a.get('x'), Some(&left));
        a.clear('x');
        assert!(a.is_empty());
    }

    #[test]
    fn one_is_skipped_or_many_are() {
        let mut count = Count::default();
        let text = |count: &Count| count.skipped("event|events|had no end");
        assert_eq!(count.skipped("Nothing was skipped."), None);
        count.add(at(5));
        let one = "1 event had no end and was skipped (byte 5).";
        assert_eq!(text(&count).as_deref(), Some(one));
        count.add(at(7));
        let two = "2 events had no end and were skipped (first: byte 5).";
        assert_eq!(text(&count).as_deref(), Some(two));
    }
}
