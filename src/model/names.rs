//! Interned texts: every distinct span name, thread name and label is stored once.

use std::hash::BuildHasher;

use hashbrown::HashTable;
use rustc_hash::FxBuildHasher;

use super::ids::NameId;

/// A table of distinct texts, in order of first use.
#[derive(Clone, Default)]
pub struct Names {
    text: String,
    /// End of each text in `text`; the start is the end of the one before.
    ends: Vec<usize>,
    index: HashTable<u32>,
}

impl Names {
    /// An empty table.
    #[must_use]
    pub fn new() -> Self {
        Self::default()
    }

    /// The id of `text`, which is added when it is new.
    ///
    /// # Panics
    /// On more than 2³² distinct texts, which no file that fits in memory can hold.
    pub fn intern(&mut self, text: &str) -> NameId {
        let hash = FxBuildHasher.hash_one(text);
        let found = self
            .index
            .find(hash, |&id| slice(&self.text, &self.ends, id) == text);
        if let Some(&id) = found {
            return NameId(id);
        }
        let id = u32::try_from(self.ends.len()).expect("fewer than 2^32 distinct texts");
        self.text.push_str(text);
        self.ends.push(self.text.len());
        let (text, ends) = (&self.text, &self.ends);
        self.index.insert_unique(hash, id, |&other| {
            FxBuildHasher.hash_one(slice(text, ends, other))
        });
        NameId(id)
    }

    /// The id of `text` if it is known.
    #[must_use]
    pub fn find(&self, text: &str) -> Option<NameId> {
        let hash = FxBuildHasher.hash_one(text);
        self.index
            .find(hash, |&id| slice(&self.text, &self.ends, id) == text)
            .map(|&id| NameId(id))
    }

    /// The text of an id.
    ///
    /// # Panics
    /// If the id is of another table and out of range here.
    #[must_use]
    pub fn get(&self, id: NameId) -> &str {
        slice(&self.text, &self.ends, id.0)
    }

    /// Number of distinct texts.
    #[must_use]
    pub fn len(&self) -> usize {
        self.ends.len()
    }

    /// True when no text was interned.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.ends.is_empty()
    }

    /// All texts, in id order.
    pub fn iter(&self) -> impl Iterator<Item = (NameId, &str)> {
        (0..self.ends.len()).map(|i| {
            let id = u32::try_from(i).unwrap_or(u32::MAX);
            (NameId(id), slice(&self.text, &self.ends, id))
        })
    }

    /// Bytes held.
    #[must_use]
    pub fn heap_bytes(&self) -> usize {
        self.text.capacity() + self.ends.capacity() * 8 + self.index.capacity() * 5
    }
}

fn slice<'a>(text: &'a str, ends: &[usize], id: u32) -> &'a str {
    let i = id as usize;
    let start = if i == 0 { 0 } else { ends[i - 1] };
    &text[start..ends[i]]
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn equal_texts_share_an_id() {
        let mut names = Names::new();
        let a = names.intern("aten::conv2d");
        let empty = names.intern("");
        assert_eq!(names.intern("aten::conv2d"), a);
        assert_eq!(names.get(empty), "");
        assert_eq!(names.find("nothing"), None);
        for i in 0..2_000 {
            names.intern(&format!("kernel_{i}"));
        }
        assert_eq!(names.len(), 2_002);
        assert_eq!(
            names.find("kernel_1999").map(|id| names.get(id)),
            Some("kernel_1999")
        );
        assert_eq!(names.get(a), "aten::conv2d");
    }
}
