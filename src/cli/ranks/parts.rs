//! The files of one table of one run, and what they are called.

use std::fs::File;
use std::io::{self, BufWriter};
use std::sync::Arc;

use crate::export::tables::ParquetWriter;
use crate::output::{Batch, Scratch, Waiting};
use crate::tables::{Block, Row, Value};

/// Bytes of a file; one more begins behind the row group that reaches it.
const PART: usize = 256 << 20;
/// Longest name of a file without its end, bytes; systems allow 255.
const NAME: usize = 100;

/// The files of one table of one run.
pub(super) struct Parts<R: Row> {
    run: Arc<str>,
    part: usize,
    writer: Option<ParquetWriter<R, BufWriter<File>>>,
    rows: u64,
}

impl<R: Row> Parts<R> {
    pub fn begin(run: &Arc<str>) -> Self {
        Self {
            run: Arc::clone(run),
            part: 0,
            writer: None,
            rows: 0,
        }
    }

    /// Rows that waited, with their run and rank.
    pub fn read(&self, scratch: &Scratch, rank: u32, waiting: Waiting) -> io::Result<Block> {
        let mut block = Block::read::<R>(&scratch.get(waiting)?)?;
        let rows = block.len();
        block.put::<R>("run", std::iter::repeat_n(Value::Text(&self.run), rows));
        let rank = i32::try_from(rank).unwrap_or(i32::MAX);
        // Of spans, some are of no rank.
        let old = block.columns()[1].values.clone();
        let ranks = old.iter().map(|&old| if old < 0 { -1 } else { rank });
        block.put::<R>("rank", ranks.map(Value::I32));
        Ok(block)
    }

    pub fn take(
        &mut self,
        batch: &mut Batch,
        scratch: &Scratch,
        rank: u32,
        waiting: &[Waiting],
    ) -> io::Result<()> {
        for &waiting in waiting {
            let block = self.read(scratch, rank, waiting)?;
            self.add(batch, block)?;
        }
        Ok(())
    }

    pub fn add(&mut self, batch: &mut Batch, rows: Block) -> io::Result<()> {
        self.rows += rows.len() as u64;
        let writer = match &mut self.writer {
            Some(writer) => writer,
            none => {
                let name = format!("{}/{}.{:05}.parquet", R::TABLE, stem(&self.run), self.part);
                let file = BufWriter::new(batch.create(&name)?);
                self.part += 1;
                none.insert(ParquetWriter::new(file, &self.run)?)
            }
        };
        writer.add(rows)?;
        if writer.bytes() >= PART {
            self.close()?;
        }
        Ok(())
    }

    fn close(&mut self) -> io::Result<()> {
        if let Some(writer) = self.writer.take() {
            writer.finish()?.into_inner().map_err(|e| e.into_error())?;
        }
        Ok(())
    }

    /// How many rows there are. A table without any has a file all the same: queries name it.
    pub fn finish(mut self, batch: &mut Batch) -> io::Result<u64> {
        if self.part == 0 {
            self.add(batch, Block::of::<R>(&[]))?;
        }
        self.close()?;
        Ok(self.rows)
    }
}

/// What the files of a run are called: its name, as far as every system and every engine takes it for a plain name; else
/// with a mark that tells it from others.
pub(super) fn stem(run: &str) -> String {
    let plain = |c: char| c.is_alphanumeric() || "-_.#".contains(c);
    let begins = run.starts_with(char::is_alphanumeric);
    if begins && run.chars().all(plain) && run.len() <= NAME {
        return run.to_owned();
    }
    // FNV-1a: the same in every version of this program, so that a run is found again.
    let mark = run.bytes().fold(0xcbf2_9ce4_8422_2325_u64, |hash, byte| {
        (hash ^ u64::from(byte)).wrapping_mul(0x100_0000_01b3)
    });
    let mut short: String = run
        .chars()
        .map(|c| if plain(c) { c } else { '_' })
        .collect();
    short.truncate(short.floor_char_boundary(NAME));
    format!("run-{short}-{mark:016x}")
}

/// Whether a file is one of those of a run: `before.00000.parquet`.
pub(super) fn is_part(name: &str, stem: &str) -> bool {
    let number = name.strip_prefix(stem).and_then(|n| n.strip_prefix('.'));
    let number = number.and_then(|n| n.strip_suffix(".parquet"));
    number.is_some_and(|n| n.len() >= 5 && n.bytes().all(|b| b.is_ascii_digit()))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn files_are_named_after_runs_whatever_these_are_called() {
        assert_eq!(stem("before"), "before");
        assert_eq!(stem("before#2"), "before#2");
        let odd = ["a/b", "a_b", "../x", "_x", ".x", "", "a\0b", "a*b", "a b"];
        let mut all: Vec<String> = odd.iter().map(|n| stem(n)).collect();
        all.push(stem(&"é".repeat(5_000)));
        for name in &all {
            assert!(
                !name.contains(['/', '\0', '*', ' ']) && name.len() < 200,
                "{name}"
            );
            assert!(name.starts_with(char::is_alphanumeric), "{name}");
        }
        all.sort();
        all.dedup();
        assert_eq!(all.len(), odd.len() + 1);
        assert!(is_part("before.00000.parquet", "before"));
        assert!(!is_part("before#2.00000.parquet", "before"));
        assert!(!is_part("before.parquet", "before"));
    }
}
