//! Files that belong together: made out of sight in their folder, and moved to their places when all are whole.
//!
//! ```text
//!  FOLDER/.stallscope-tmp/…   while they are made; also what waits on disk meanwhile
//!  FOLDER/steps/…             when all are whole
//!  FOLDER/INDEX               last of all: what it does not name is not there
//! ```
//!
//! Whenever it ends in between, the next batch undoes what was begun: the list of files is written before the first is
//! moved, and they are taken away again as long as the index does not name them.

use std::fs::{self, File, TryLockError};
use std::io::{self, Read, Seek, SeekFrom, Write};
use std::path::{Component, Path, PathBuf};
use std::sync::{Mutex, PoisonError};

/// The folder inside the folder.
const HIDDEN: &str = ".stallscope-tmp";
/// Held by the one who writes; the system lets go of it whatever happens.
const LOCK: &str = "lock";
/// The files that are moved or taken away, one a line.
const LIST: &str = "files";
/// The index without what is moved.
const BETWEEN: &str = "index";

/// Several files of one folder that come there together.
pub struct Batch {
    folder: PathBuf,
    hidden: PathBuf,
    index: &'static str,
    made: Vec<String>,
    /// The folder was not there before.
    new: bool,
    /// What was begun is to be undone by the next one.
    moving: bool,
    lock: Option<File>,
}

impl Batch {
    /// Whether a folder may get files: it is not there, empty, has an index, or only what an earlier batch left behind. One
    /// that cannot be looked into says why when a batch begins.
    #[must_use]
    pub fn is_free(folder: &Path, index: &str) -> bool {
        let Ok(mut entries) = fs::read_dir(folder) else {
            return !folder.is_file();
        };
        entries.next().is_none()
            || folder.join(index).is_file()
            || folder.join(HIDDEN).join(LOCK).is_file()
    }

    /// Begins a batch; undoes what an earlier one began and did not finish.
    ///
    /// # Errors
    /// What the system says, and where another program is at it.
    pub fn begin(folder: &Path, index: &'static str) -> io::Result<Self> {
        let new = !folder.exists();
        fs::create_dir_all(folder)?;
        let hidden = folder.join(HIDDEN);
        fs::create_dir_all(&hidden)?;
        if fs::symlink_metadata(&hidden)?.is_symlink() {
            return Err(io::Error::other(format!("{HIDDEN} in it is a link")));
        }
        let lock = File::options()
            .create(true)
            .truncate(false)
            .write(true)
            .open(hidden.join(LOCK))?;
        match lock.try_lock() {
            Ok(()) => {}
            Err(TryLockError::WouldBlock) => {
                return Err(io::Error::other("another stallscope is writing into it"));
            }
            // Some file systems know no locks.
            Err(TryLockError::Error(e)) if e.kind() == io::ErrorKind::Unsupported => {}
            Err(TryLockError::Error(e)) => return Err(e),
        }
        let batch = Self {
            folder: folder.to_owned(),
            hidden,
            index,
            made: Vec::new(),
            new,
            moving: false,
            lock: Some(lock),
        };
        batch.undo()?;
        Ok(batch)
    }

    /// Takes away what an earlier batch began to move, and what it left behind.
    fn undo(&self) -> io::Result<()> {
        if let Ok(list) = fs::read_to_string(self.hidden.join(LIST))
            && self.old_index()? == content(&self.hidden.join(BETWEEN))?
        {
            for name in list.lines().filter(|n| is_inside(n)) {
                gone(fs::remove_file(self.folder.join(name)))?;
            }
        }
        for entry in fs::read_dir(&self.hidden)? {
            let entry = entry?;
            if entry.file_name() == LOCK {
                continue;
            }
            match entry.file_type()?.is_dir() {
                true => fs::remove_dir_all(entry.path())?,
                false => fs::remove_file(entry.path())?,
            }
        }
        Ok(())
    }

    /// The index as it is; `None` where there is none.
    ///
    /// # Errors
    /// Where there is one that cannot be read.
    pub fn old_index(&self) -> io::Result<Option<Vec<u8>>> {
        content(&self.folder.join(self.index))
    }

    /// Begins a file of the batch; `name` is its path in the folder, with `/`.
    ///
    /// # Errors
    /// What the system says.
    pub fn create(&mut self, name: &str) -> io::Result<File> {
        let path = self.hidden.join(name);
        if let Some(parent) = path.parent() {
            fs::create_dir_all(parent)?;
        }
        let file = File::create_new(path)?;
        self.made.push(name.to_owned());
        Ok(file)
    }

    /// The files of the batch so far, by their paths in the folder.
    #[must_use]
    pub fn made(&self) -> &[String] {
        &self.made
    }

    /// A file for what waits meanwhile.
    ///
    /// # Errors
    /// What the system says.
    pub fn scratch(&self) -> io::Result<Scratch> {
        let mut options = File::options();
        let file = options.create_new(true).read(true).write(true);
        Ok(Scratch {
            file: Mutex::new((file.open(self.hidden.join("rows"))?, 0)),
        })
    }

    /// Moves the files of the batch to their places and takes `old` ones away; `index` names what is there then, and
    /// `between` what stays in any case, where anything does.
    ///
    /// # Errors
    /// Where a file is at the place of a new one and not among the old ones, before anything is moved; else what the system
    /// says: then the next batch undoes what was begun.
    pub fn finish(
        mut self,
        old: &[String],
        between: Option<&[u8]>,
        index: &[u8],
    ) -> io::Result<()> {
        let there = |name: &&String| fs::symlink_metadata(self.folder.join(name)).is_ok();
        if let Some(name) = self.made.iter().filter(|n| !old.contains(n)).find(there) {
            return Err(io::Error::new(
                io::ErrorKind::AlreadyExists,
                format!(
                    "{name} is there already, and {} does not name it",
                    self.index
                ),
            ));
        }
        for name in &self.made {
            let written = File::options().write(true).open(self.hidden.join(name))?;
            written.sync_all()?;
        }
        let gone_too = old.iter().filter(|name| !self.made.contains(name));
        let gone_too: Vec<&String> = gone_too.collect();
        let list: Vec<&str> = self
            .made
            .iter()
            .chain(gone_too.iter().copied())
            .map(String::as_str)
            .collect();
        if let Some(between) = between {
            super::write(&self.hidden.join(BETWEEN), between)?;
        }
        super::write(&self.hidden.join(LIST), list.join("\n").as_bytes())?;
        self.moving = true;
        let place = self.folder.join(self.index);
        if let Some(between) = between
            && self.old_index()?.as_deref() != Some(between)
        {
            super::write(&place, between)?;
        }
        for name in gone_too {
            gone(fs::remove_file(self.folder.join(name)))?;
        }
        for name in &self.made {
            let target = self.folder.join(name);
            if let Some(parent) = target.parent() {
                fs::create_dir_all(parent)?;
            }
            fs::rename(self.hidden.join(name), target)?;
        }
        super::write(&place, index)?;
        self.moving = false;
        self.new = false;
        Ok(())
    }
}

impl Drop for Batch {
    fn drop(&mut self) {
        if self.moving {
            return;
        }
        if cfg!(windows) {
            // There, what is open cannot be taken away.
            drop(self.lock.take());
        }
        // What cannot be taken away now is by the next batch.
        let _ = fs::remove_dir_all(&self.hidden);
        if self.new {
            let _ = fs::remove_dir(&self.folder);
        }
    }
}

/// Whether a name leads to something in the folder.
fn is_inside(name: &str) -> bool {
    let mut parts = Path::new(name).components();
    !name.is_empty() && parts.all(|c| matches!(c, Component::Normal(_)))
}

/// What a file holds; `None` where there is none.
fn content(path: &Path) -> io::Result<Option<Vec<u8>>> {
    match fs::read(path) {
        Ok(bytes) => Ok(Some(bytes)),
        Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(None),
        Err(error) => Err(error),
    }
}

/// What is not there needs not be taken away.
fn gone(result: io::Result<()>) -> io::Result<()> {
    match result {
        Err(e) if e.kind() == io::ErrorKind::NotFound => Ok(()),
        other => other,
    }
}

/// Bytes that wait on disk, from several threads.
pub struct Scratch {
    /// With its length.
    file: Mutex<(File, u64)>,
}

/// Where bytes wait.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Waiting {
    from: u64,
    len: usize,
}

impl Scratch {
    /// Puts bytes there.
    ///
    /// # Errors
    /// What the system says.
    pub fn put(&self, bytes: &[u8]) -> io::Result<Waiting> {
        let mut held = self.file.lock().unwrap_or_else(PoisonError::into_inner);
        let (file, end) = &mut *held;
        file.seek(SeekFrom::Start(*end))?;
        file.write_all(bytes)?;
        let waiting = Waiting {
            from: *end,
            len: bytes.len(),
        };
        *end += bytes.len() as u64;
        Ok(waiting)
    }

    /// Reads them again.
    ///
    /// # Errors
    /// What the system says.
    pub fn get(&self, waiting: Waiting) -> io::Result<Vec<u8>> {
        let mut held = self.file.lock().unwrap_or_else(PoisonError::into_inner);
        let file = &mut held.0;
        file.seek(SeekFrom::Start(waiting.from))?;
        let mut bytes = vec![0; waiting.len];
        file.read_exact(&mut bytes)?;
        Ok(bytes)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn folder(name: &str) -> PathBuf {
        let dir = Path::new(env!("CARGO_MANIFEST_DIR"))
            .join("target/tmp/batch")
            .join(name);
        let _ = fs::remove_dir_all(&dir);
        dir
    }

    fn put(batch: &mut Batch, name: &str, text: &str) {
        let mut file = batch.create(name).expect("a file");
        file.write_all(text.as_bytes()).expect("written");
    }

    fn text(path: &Path) -> Option<String> {
        fs::read_to_string(path).ok()
    }

    #[test]
    fn files_come_together_and_old_ones_go() {
        let dir = folder("together");
        assert!(Batch::is_free(&dir, "i"));
        let mut batch = Batch::begin(&dir, "i").expect("begun");
        put(&mut batch, "a/1", "one");
        assert!(!dir.join("a").exists());
        assert!(Batch::begin(&dir, "i").is_err(), "one at a time");
        batch.finish(&[], None, b"first").expect("moved");
        assert_eq!(text(&dir.join("a/1")).as_deref(), Some("one"));
        assert!(!dir.join(HIDDEN).exists());
        assert!(Batch::is_free(&dir, "i"));
        let mut batch = Batch::begin(&dir, "i").expect("begun");
        put(&mut batch, "a/2", "two");
        let old = ["a/1".to_owned(), "a/2".to_owned()];
        batch.finish(&old, Some(b""), b"second").expect("moved");
        assert_eq!(text(&dir.join("i")).as_deref(), Some("second"));
        assert_eq!(
            (text(&dir.join("a/1")), text(&dir.join("a/2"))),
            (None, Some("two".to_owned()))
        );
    }

    #[test]
    fn what_is_given_up_leaves_nothing_and_a_foreign_folder_is_told() {
        let dir = folder("given_up");
        let mut batch = Batch::begin(&dir, "i").expect("begun");
        put(&mut batch, "a/1", "one");
        drop(batch);
        assert!(!dir.exists());
        fs::create_dir_all(&dir).expect("made");
        assert!(Batch::is_free(&dir, "i"));
        fs::write(dir.join("notes"), "mine").expect("written");
        assert!(!Batch::is_free(&dir, "i"));
        assert!(!Batch::is_free(&dir.join("notes"), "i"));
    }

    #[test]
    fn what_was_begun_is_undone() {
        for (done, left) in [("old", None), ("new", Some("half"))] {
            let dir = folder(&format!("undone_{done}"));
            fs::create_dir_all(dir.join("a")).expect("made");
            fs::create_dir_all(dir.join(HIDDEN)).expect("made");
            // It was killed while it moved files, or just after it was done.
            let hidden = dir.join(HIDDEN);
            for (name, text) in [("lock", ""), ("files", "a/1\n../keep"), ("index", "old")] {
                fs::write(hidden.join(name), text).expect("written");
            }
            fs::write(dir.join("i"), done).expect("written");
            fs::write(dir.join("a/1"), "half").expect("written");
            fs::write(dir.join("a/0"), "old").expect("written");
            let keep = dir.parent().expect("a folder").join("keep");
            fs::write(&keep, "mine").expect("written");
            drop(Batch::begin(&dir, "i").expect("begun"));
            assert_eq!(text(&dir.join("a/1")).as_deref(), left);
            assert_eq!(text(&dir.join("a/0")).as_deref(), Some("old"));
            assert!(keep.exists() && !hidden.exists());
        }
    }

    #[test]
    fn bytes_wait_on_disk() {
        let dir = folder("scratch");
        let batch = Batch::begin(&dir, "i").expect("begun");
        let scratch = batch.scratch().expect("a file");
        let all: Vec<Waiting> = [&b"one"[..], b"", b"three"]
            .iter()
            .map(|b| scratch.put(b).expect("written"))
            .collect();
        let read: Vec<Vec<u8>> = all
            .iter()
            .rev()
            .map(|w| scratch.get(*w).expect("read"))
            .collect();
        assert_eq!(read, [&b"three"[..], b"", b"one"]);
    }
}
