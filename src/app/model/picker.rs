//! File dialogs of the platform, each on a thread of its own: they block whoever calls them.

use std::future::Future;
use std::io;
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
    /// This system has no file dialog: what was asked for.
    NoDialog(Ask),
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
        let nothing = |ask: Self| {
            if asked.elapsed() < TOO_FAST {
                Picked::NoDialog(ask)
            } else {
                Picked::Nothing
            }
        };
        let path = |h: FileHandle| h.path().to_owned();
        match self {
            Self::Files => match files(self.title()) {
                Some(files) => Picked::Open(files),
                None => nothing(self),
            },
            Self::Before => match files(self.title()) {
                Some(files) => Picked::Before(files),
                None => nothing(self),
            },
            Self::Folder => {
                let dialog = AsyncFileDialog::new().set_title(self.title());
                match wait_for(dialog.pick_folder()) {
                    Some(folder) => Picked::Open(vec![path(folder)]),
                    None => nothing(self),
                }
            }
            Self::Save(name, make) => {
                let dialog = AsyncFileDialog::new().set_file_name(&name).save_file();
                match wait_for(dialog) {
                    // The dialog has asked about a file of that name.
                    Some(file) => write(&path(file), true, make),
                    None => nothing(Self::Save(name, make)),
                }
            }
            Self::Write(file, replace, _) if !replace && file.exists() => Picked::Exists(file),
            Self::Write(file, replace, make) => write(&file, replace, make),
        }
    }

    /// What the dialog is called.
    #[must_use]
    pub fn title(&self) -> &'static str {
        match self {
            Self::Files => "Open trace",
            Self::Folder => "Open folder as one trace",
            Self::Before => "Compare with the trace before",
            Self::Save(..) | Self::Write(..) => "Save as",
        }
    }

    /// Whether something is written.
    #[must_use]
    pub fn writes(&self) -> bool {
        matches!(self, Self::Save(..) | Self::Write(..))
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

/// Writes what is made. Of several files only the one that was named may replace one: nobody was asked about others.
fn write(path: &Path, replace: bool, make: Make) -> Picked {
    let failed = |why| Picked::Failed(format!("{} could not be written.", path.display()), why);
    let Made { files, left_out } = match make(path) {
        Ok(made) => made,
        Err(why) => return failed(why),
    };
    let may_replace = |file: &Path| replace && file == path;
    let exists = |file: &Path| match file == path {
        true => Picked::Exists(path.to_owned()),
        false => failed(format!(
            "{} is there already. Choose another name.",
            file.display()
        )),
    };
    // Before the first of them is written.
    let mut names = files.iter().map(|(file, _)| file.as_path());
    if let Some(taken) = names.find(|file| !may_replace(file) && file.exists()) {
        return exists(taken);
    }
    for (file, bytes) in &files {
        let written = match may_replace(file) {
            true => output::write(file, bytes),
            false => output::write_new(file, bytes),
        };
        match written {
            Ok(()) => {}
            Err(e) if e.kind() == io::ErrorKind::AlreadyExists => return exists(file),
            Err(e) => return failed(format!("{}: {e}", file.display())),
        }
    }
    let first = files.into_iter().next().map(|(first, _)| first);
    Picked::Written(first.unwrap_or_else(|| path.to_owned()), left_out)
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
