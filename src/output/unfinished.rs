//! Files that are being written right now: none of them stays behind where the program ends before it is whole.

use std::fs;
use std::io;
use std::path::{Path, PathBuf};
use std::sync::{Mutex, MutexGuard, PoisonError};

use tempfile::NamedTempFile;

/// Where they are. Whoever makes, renames or removes one holds this meanwhile.
static UNFINISHED: Mutex<Vec<PathBuf>> = Mutex::new(Vec::new());

fn list() -> MutexGuard<'static, Vec<PathBuf>> {
    UNFINISHED.lock().unwrap_or_else(PoisonError::into_inner)
}

/// A file beside its target. Dropped, it is gone.
pub struct Unfinished {
    /// `None` once it has another name.
    file: Option<NamedTempFile>,
}

impl Unfinished {
    /// Makes one; from now on a signal that ends the program removes it first.
    ///
    /// # Errors
    /// What the system says.
    pub fn make(make: impl FnOnce() -> io::Result<NamedTempFile>) -> io::Result<Self> {
        #[cfg(unix)]
        signals::watch();
        let mut list = list();
        let file = make()?;
        list.push(file.path().to_owned());
        Ok(Self { file: Some(file) })
    }

    /// The open file; `None` never, before it has its name.
    pub fn file(&mut self) -> Option<&mut fs::File> {
        self.file.as_mut().map(NamedTempFile::as_file_mut)
    }

    /// Gives it its name; where there is a file of that name, only if that may be replaced.
    ///
    /// # Errors
    /// What the system says, `AlreadyExists` among it; then it is gone.
    pub fn name(mut self, path: &Path, replace: bool) -> io::Result<()> {
        let mut list = list();
        let Some(file) = self.file.take() else {
            return Ok(());
        };
        let beside = file.path().to_owned();
        // Where it fails it is removed with the error, before others may write again.
        let named = match replace {
            true => file.persist(path).map(drop).map_err(|e| e.error),
            false => file.persist_noclobber(path).map(drop).map_err(|e| e.error),
        };
        list.retain(|p| *p != beside);
        named
    }
}

impl Drop for Unfinished {
    fn drop(&mut self) {
        if let Some(file) = self.file.take() {
            let mut list = list();
            list.retain(|p| p != file.path());
            drop(file);
        }
    }
}

/// Removes what is not whole. For the end of the program: whoever writes waits from now on, for ever.
pub fn give_up() {
    let list = list();
    for path in &*list {
        let _ = fs::remove_file(path);
    }
    std::mem::forget(list);
}

#[cfg(unix)]
mod signals {
    //! What a user or a system ends programs with.

    use std::sync::Once;
    use std::sync::mpsc::sync_channel;
    use std::thread::Builder;

    use signal_hook::consts::{SIGHUP, SIGINT, SIGTERM};
    use signal_hook::iterator::Signals;
    use signal_hook::low_level::emulate_default_handler;

    /// From now on such a signal removes what is not whole and then ends the program, as it would have without this.
    pub fn watch() {
        static WATCH: Once = Once::new();
        WATCH.call_once(|| {
            let (ready, is_ready) = sync_channel(1);
            // Where no thread starts, signals do what they always did.
            let thread = Builder::new().name("stallscope-signals".to_owned());
            let spawned = thread.spawn(move || {
                let wanted = [SIGHUP, SIGINT, SIGTERM].into_iter();
                let signals = Signals::new(wanted.filter(|s| !is_ignored(*s)));
                let _ = ready.send(());
                let Ok(mut signals) = signals else {
                    return;
                };
                if let Some(signal) = signals.forever().next() {
                    super::give_up();
                    let _ = emulate_default_handler(signal);
                }
            });
            if spawned.is_ok() {
                // The thread says so before it waits for anything.
                let _ = is_ready.recv();
            }
        });
    }

    /// Whether the program was started so that it survives this signal, as by `nohup`.
    fn is_ignored(signal: i32) -> bool {
        let Ok(status) = std::fs::read_to_string("/proc/self/status") else {
            // Other systems do not tell: a terminal that goes is what is usually survived.
            return signal == SIGHUP;
        };
        let mask = status.lines().find_map(|l| l.strip_prefix("SigIgn:"));
        let mask = mask.and_then(|m| u64::from_str_radix(m.trim(), 16).ok());
        mask.is_some_and(|mask| mask >> (signal - 1) & 1 == 1)
    }
}
