//! Small tables, and what of them could not be read, with what is unknown because of it: a table that is not there was
//! not recorded, a table that is there and cannot be read is a loss.

use std::sync::{Mutex, PoisonError};

use crate::import::contract::report::{Fact, ImportReport, Loss, NoticeKind};
use crate::model::SourceId;

/// A small table, the columns that are wanted of it by name, and what is not known without it.
pub(crate) struct Small {
    /// The table.
    pub table: &'static str,
    /// Columns of any type.
    pub columns: &'static [&'static str],
    /// How many of the first columns its rows mean nothing without.
    pub required: usize,
    /// What is not known where it cannot be read, as a part of a sentence.
    pub without: &'static str,
}

/// Why something of a small table is not known.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Trouble {
    /// A page of the file is broken.
    Damaged,
    /// The table has another form than nsys gives it.
    Unreadable,
    /// A value is not of its kind.
    BadValue,
    /// A table that is only counted is damaged.
    NotCounted,
}

/// What of the small tables could not be read.
#[derive(Default)]
pub(crate) struct Unread(Mutex<Vec<Lack>>);

struct Lack {
    trouble: Trouble,
    table: &'static str,
    why: String,
    without: &'static str,
}

impl Lack {
    fn text(&self) -> String {
        let (table, why) = (self.table, &self.why);
        match self.without {
            "" => format!("{table} ({why})"),
            without => format!("{table} ({why}): {without}"),
        }
    }
}

impl Unread {
    /// Notes it, once per table and trouble.
    pub fn add(&self, trouble: Trouble, small: &Small, why: String) {
        self.push(trouble, small.table, why, small.without);
    }

    /// Notes that a table that is only counted is damaged.
    pub fn not_counted(&self, table: &'static str, why: String) {
        self.push(Trouble::NotCounted, table, why, "");
    }

    fn push(&self, trouble: Trouble, table: &'static str, why: String, without: &'static str) {
        let mut list = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        let known = |l: &Lack| l.trouble == trouble && l.table == table;
        if !list.iter().any(known) {
            list.push(Lack {
                trouble,
                table,
                why,
                without,
            });
        }
    }

    /// True where something of the table could not be read.
    pub fn has(&self, table: &str) -> bool {
        let list = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        list.iter().any(|l| l.table == table)
    }

    /// A notice per trouble that names the tables and what is not known.
    pub fn report(&self, report: &mut ImportReport, source: SourceId) {
        let list = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        let facts: [(Trouble, Fact, &'static str, &str); 4] = [
            (
                Trouble::Damaged,
                NoticeKind::Damaged.into(),
                "damaged_table",
                "The file is damaged: tables that describe the recording could not be read whole",
            ),
            (
                Trouble::Unreadable,
                NoticeKind::Skipped.into(),
                "facts_unreadable",
                "Tables that describe the recording could not be read",
            ),
            (
                Trouble::BadValue,
                NoticeKind::Skipped.into(),
                "bad_facts",
                "Values in tables that describe the recording cannot be what they should be",
            ),
            (
                Trouble::NotCounted,
                NoticeKind::Damaged.losing(Loss::Nothing),
                "damaged_not_drawn",
                "The file is damaged: tables that are not drawn, and of which no figure is made, could not be counted whole",
            ),
        ];
        for (trouble, fact, code, intro) in facts {
            let lacks: Vec<&Lack> = list.iter().filter(|l| l.trouble == trouble).collect();
            let said: Vec<String> = lacks.iter().map(|l| l.text()).collect();
            // Never put together with what is said of the tables of events: both texts are needed.
            let text = format!(
                "{intro}. {}. Copy or export the file again: `nsys export --type sqlite`.",
                said.join(". ")
            );
            let count = lacks.len() as u64;
            report.note_whole(fact, code, Some(source), count, &[], text);
        }
    }
}
