//! What hashes stand for, in the order of their first mention. Runs have hundreds of thousands of them, each in many
//! files: texts lie in one piece of memory per table.

use std::borrow::Cow;

use crate::model::{NameId, Names};

/// Texts that one hash stands for in what is shown; 16 bits of old recorders may stand for thousands.
const MOST_TEXTS: usize = 64;

/// Hash → texts.
#[derive(Default)]
pub(crate) struct Table {
    hashes: Names,
    texts: Names,
    /// By number of the hash.
    entries: Vec<Entry>,
    /// Hashes with several texts.
    ambiguous: u64,
}

struct Entry {
    first: NameId,
    /// Further ones, each once.
    others: Vec<NameId>,
    /// There are more than are kept.
    more: bool,
}

/// What one hash stands for.
#[derive(Clone, Copy)]
pub(crate) struct Texts<'t> {
    table: &'t Table,
    entry: &'t Entry,
}

impl Table {
    /// Adds a text to a hash, unless it has it.
    pub fn declare(&mut self, hash: &str, text: &str) {
        let number = self.hashes.intern(hash).index();
        let Some(entry) = self.entries.get_mut(number) else {
            self.entries.push(Entry {
                first: self.texts.intern(text),
                others: Vec::new(),
                more: false,
            });
            return;
        };
        let known = self.texts.find(text);
        if known.is_some_and(|text| entry.first == text || entry.others.contains(&text)) {
            return;
        }
        self.ambiguous += u64::from(entry.others.is_empty());
        if entry.others.len() + 1 < MOST_TEXTS {
            entry.others.push(self.texts.intern(text));
        } else {
            // Not interned: what is left out takes no memory.
            entry.more = true;
        }
    }

    /// Adds those of another table.
    pub fn absorb(&mut self, other: &Self) {
        for (hash, theirs) in other.iter() {
            for text in theirs.iter() {
                self.declare(hash, text);
            }
            if theirs.entry.more
                && let Some(number) = self.hashes.find(hash)
            {
                self.entries[number.index()].more = true;
            }
        }
    }

    /// What a hash stands for, if it is declared.
    pub fn get(&self, hash: &str) -> Option<Texts<'_>> {
        let number = self.hashes.find(hash)?;
        Some(self.texts(number))
    }

    fn texts(&self, number: NameId) -> Texts<'_> {
        Texts {
            table: self,
            entry: &self.entries[number.index()],
        }
    }

    /// All hashes.
    pub fn iter(&self) -> impl Iterator<Item = (&str, Texts<'_>)> {
        let hashes = self.hashes.iter();
        hashes.map(|(number, hash)| (hash, self.texts(number)))
    }

    /// Number of hashes.
    pub fn len(&self) -> usize {
        self.entries.len()
    }

    /// Number of hashes that stand for several texts: old recorders wrote 16 bits.
    pub fn ambiguous(&self) -> u64 {
        self.ambiguous
    }

    /// The first text of all.
    pub fn first(&self) -> Option<&str> {
        let entry = self.entries.first()?;
        Some(self.texts.get(entry.first))
    }
}

impl<'t> Texts<'t> {
    fn iter(self) -> impl Iterator<Item = &'t str> {
        let others = self.entry.others.iter().copied();
        let all = std::iter::once(self.entry.first).chain(others);
        all.map(move |text| self.table.texts.get(text))
    }

    /// `a or b`.
    pub fn join(self) -> Cow<'t, str> {
        if self.entry.others.is_empty() {
            return Cow::Borrowed(self.table.texts.get(self.entry.first));
        }
        let mut text = self.iter().collect::<Vec<_>>().join(" or ");
        if self.entry.more {
            text.push_str(" or others");
        }
        Cow::Owned(text)
    }
}

impl PartialEq for Texts<'_> {
    fn eq(&self, other: &Self) -> bool {
        self.entry.more == other.entry.more && self.iter().eq(other.iter())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn hashes_keep_their_texts_once_and_in_order() {
        let (mut a, mut b) = (Table::default(), Table::default());
        a.declare("1", "x");
        a.declare("1", "y");
        a.declare("1", "x");
        a.declare("2", "x");
        b.declare("3", "z");
        b.declare("1", "w");
        b.absorb(&a);
        let joined: Vec<_> = b.iter().map(|(hash, t)| (hash, t.join())).collect();
        let expected = [("3", "z"), ("1", "w or x or y"), ("2", "x")];
        assert_eq!(joined, expected.map(|(hash, text)| (hash, text.into())));
        assert_eq!((a.first(), b.first(), b.len()), (Some("x"), Some("z"), 3));
        assert!(a.get("2") == b.get("2") && a.get("1") != b.get("1"));
        assert!(b.get("4").is_none());
        assert_eq!((a.ambiguous(), b.ambiguous()), (1, 1));
    }

    #[test]
    fn thousands_of_texts_of_one_hash_are_cut_and_said() {
        let mut table = Table::default();
        for i in 0..70 {
            table.declare("1", &i.to_string());
        }
        let text = table.get("1").map(Texts::join).unwrap_or_default();
        assert!(text.ends_with(" or 63 or others"), "{text}");
        assert_eq!((table.ambiguous(), table.texts.len()), (1, MOST_TEXTS));
        let mut other = Table::default();
        other.absorb(&table);
        assert!(other.get("1") == table.get("1"));
    }
}
