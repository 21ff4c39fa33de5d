//! File dialogs of the platform, each on a thread of its own: they block whoever calls them.

use std::future::Future;
use std::path::{Path, PathBuf};
use std::pin::pin;
use std::sync::Arc;
use std::sync::mpsc::{Receiver, TryRecvError, sync_channel};
use std::task::{Context, Poll, Wake, Waker};
use std::thread::Thread;
use std::time::{Duration, Instant};

use rfd::{AsyncFileDialog, FileHandle};

use crate::output;

/// Nobody closes a dialog faster: there was none.
const TOO_FAST: Duration = Duration::from_millis(300);

/// What came of a dialog.
pub enum Picked {
    /// Files or a folder to open.
    Open(Vec<PathBuf>),
    /// Files to compare with.
    Before(Vec<PathBuf>),
    /// This file was written; what is not in it, where something is not.
    Written(PathBuf, String),
    /// Nothing was written: a file of this name is there already.
    Exists(PathBuf),
    /// Something could not be written: what, and why.
    Failed(String, String),
    /// The user closed the dialog.
    Nothing,
    /// This system has no file dialog.
    NoDialog,
}

/// What a dialog is for.
pub enum Ask {
    /// Choose files.
    Files,
    /// Choose a folder.
    Folder,
    /// Choose files to compare with.
    Before,
    /// Choose where to write: suggested name, then the bytes, made on the dialog's thread.
    Save(String, Make),
    /// Write to a file without asking, replacing one that is there only if this says so.
    Write(PathBuf, bool, Make),
}

/// Makes what is written for this path, on the dialog's thread: mostly the bytes of that file; or says why it cannot.
pub type Make = Box<dyn FnOnce(&Path) -> Result<Made, String> + Send>;

/// What is written.
#[derive(Default)]
pub struct Made {
    /// Files and their bytes; the first is the one that is named afterwards.
    pub files: Vec<(PathBuf, Vec<u8>)>,
    /// What is not in them; empty where everything is.
    pub left_out: String,
}

impl Made {
    /// One file with all that was asked for.
    #[must_use]
    pub fn one(path: &Path, bytes: Vec<u8>) -> Self {
        Self {
            files: vec![(path.to_owned(), bytes)],
            left_out: String::new(),
        }
    }
}

/// A dialog that is open.
pub struct Picker {
    picked: Receiver<Picked>,
}

impl Picker {
    /// Opens a dialog. `wake` is called when it is closed.
    #[must_use]
    pub fn open(ask: Ask, wake: impl Fn() + Send + 'static) -> Option<Self> {
        let (send, picked) = sync_channel(1);
        let thread = std::thread::Builder::new().name("stallscope-files".to_owned());
        let spawned = thread.spawn(move || {
            // The window may be gone by the time that somebody chose.
            let _ = send.send(ask.run());
            wake();
        });
        spawned.is_ok().then_some(Self { picked })
    }

    /// What was chosen, once something was.
    #[must_use]
    pub fn poll(&self) -> Option<Picked> {
        match self.picked.try_recv() {
            Ok(picked) => Some(picked),
            Err(TryRecvError::Empty) => None,
            Err(TryRecvError::Disconnected) => Some(Picked::Nothing),
        }
    }
}

impl Ask {
    fn run(self) -> Picked {
        let asked = Instant::now();
        let nothing = || {
            if asked.elapsed() < TOO_FAST {
                Picked::NoDialog
            } else {
                Picked::Nothing
            }
        };
        let path = |h: FileHandle| h.path().to_owned();
        match self {
            Self::Files => match files("Open trace") {
                Some(files) => Picked::Open(files),
                None => nothing(),
            },
            Self::Before => match files("Compare with the trace before") {
                Some(files) => Picked::Before(files),
                None => nothing(),
            },
            Self::Folder => {
                let dialog = AsyncFileDialog::new().set_title("Open folder as one trace");
                match wait_for(dialog.pick_folder()) {
                    Some(folder) => Picked::Open(vec![path(folder)]),
                    None => nothing(),
                }
            }
            Self::Save(name, make) => {
                let dialog = AsyncFileDialog::new().set_file_name(&name).save_file();
                match wait_for(dialog) {
                    Some(file) => write(&path(file), make),
                    None => nothing(),
                }
            }
            Self::Write(file, replace, _) if !replace && file.exists() => Picked::Exists(file),
            Self::Write(file, _, make) => write(&file, make),
        }
    }
}

/// Files that the user chooses.
fn files(title: &str) -> Option<Vec<PathBuf>> {
    let dialog = AsyncFileDialog::new()
        .set_title(title)
        .add_filter("Traces", &["json", "gz", "pfw", "sqlite", "zip", "tar"])
        .add_filter("All files", &["*"])
        .pick_files();
    let files = wait_for(dialog)?.into_iter();
    let files: Vec<PathBuf> = files.map(|h| h.path().to_owned()).collect();
    (!files.is_empty()).then_some(files)
}

fn write(path: &Path, make: Make) -> Picked {
    let written = make(path).and_then(|made| {
        for (path, bytes) in &made.files {
            output::write(path, bytes).map_err(|e| format!("{}: {e}", path.display()))?;
        }
        let first = made.files.into_iter().next().map(|(first, _)| first);
        Ok((first, made.left_out))
    });
    match written {
        Ok((first, left_out)) => {
            Picked::Written(first.unwrap_or_else(|| path.to_owned()), left_out)
        }
        Err(why) => Picked::Failed(format!("{} could not be written.", path.display()), why),
    }
}

/// Wakes a parked thread.
struct Unpark(Thread);

impl Wake for Unpark {
    fn wake(self: Arc<Self>) {
        self.0.unpark();
    }
}

/// Runs a future on this thread until it is done.
fn wait_for<T>(future: impl Future<Output = T>) -> T {
    let waker = Waker::from(Arc::new(Unpark(std::thread::current())));
    let mut context = Context::from_waker(&waker);
    let mut future = pin!(future);
    loop {
        match future.as_mut().poll(&mut context) {
            Poll::Ready(value) => return value,
            Poll::Pending => std::thread::park(),
        }
    }
}
