//! A span's args, read again from its file when somebody looks at them.
//!
//! The model keeps a reference only. Plain files are read at its place; compressed ones are inflated from their start
//! (about 1.4 GB of text per second), but the last 8 MiB stay, so that neighbours cost nothing.

use std::fs::File;
use std::io::{self, Read, Seek, SeekFrom};
use std::path::Path;
use std::sync::{Arc, Mutex, PoisonError};

use rayon::prelude::*;
use serde_json::{Map, Value};

use crate::import::bytes::archive::{self, Archive, Member};
use crate::import::bytes::input::Input;
use crate::import::bytes::small::open_regular;
use crate::import::contract::error::{ErrorKind, LoadError};
use crate::import::contract::importer::RowArgs;
use crate::import::importers;
use crate::import::opening::fields::{Looked, Raw};
use crate::import::text::lenient;
use crate::model::{ArgsOrigin, Source, SourceId, SpanId, Trace};

/// Inflated bytes that stay.
const WINDOW: usize = 8 << 20;

/// Inflated bytes that are asked for at once.
const BUFFER: usize = 256 << 10;

/// Bytes of a plain file that are read at once: the args of neighbours lie side by side.
const BLOCK: usize = 64 << 10;

/// Bytes that are read at once where they lie further apart than that.
const FAR: usize = 4 << 10;

/// Args above this are not shown.
const LARGEST: usize = 256 << 20;

/// Files that stay open.
const OPEN: usize = 4;

/// Reads args on demand and keeps the last files open.
#[derive(Default)]
pub struct ArgsReader {
    /// Most recent last.
    open: Vec<(SourceId, Opened)>,
}

/// Gets a span and the way to its args as text. Returns `false` to stop.
pub type FoundArgs<'a> = dyn FnMut(SpanId, &dyn Fn(&str) -> Option<String>) -> bool + 'a;

/// The args of one trace, for readers on several threads.
pub struct SharedArgs {
    trace: Arc<Trace>,
    reader: Mutex<ArgsReader>,
}

impl SharedArgs {
    /// Nothing open yet.
    #[must_use]
    pub fn new(trace: Arc<Trace>) -> Self {
        Self {
            trace,
            reader: Mutex::default(),
        }
    }

    /// As [`ArgsReader::read`].
    ///
    /// # Errors
    /// When the file is gone or was changed.
    pub fn read(&self, span: SpanId) -> Result<Option<Map<String, Value>>, LoadError> {
        // A reader that another thread left behind is as good as a new one.
        let mut reader = self.reader.lock().unwrap_or_else(PoisonError::into_inner);
        reader.read(&self.trace, span)
    }

    /// Calls `found` once for each of the spans, with the way to its args as text: `None` where one was not recorded, is
    /// null, or its file is gone. Reads them in the order in which they lie in their files, so that those are inflated
    /// once at most. Stops when `found` says so with `false`, or `go_on`, which is asked on the way too.
    pub fn each(&self, spans: &[SpanId], go_on: &dyn Fn() -> bool, found: &mut FoundArgs<'_>) {
        let columns = self.trace.spans();
        let mut order = spans.to_vec();
        // References ascend with the place in the text, and with the rows of a table.
        order.par_sort_unstable_by_key(|&span| {
            let source = self.trace.lane(columns.lane(span)).source;
            (source, columns.args(span).0, span)
        });
        // One of its own: nobody who looks at a span waits until all these are read.
        let mut reader = ArgsReader::new();
        for span in order {
            let source = self.trace.lane(columns.lane(span)).source;
            let raw = reader.raw(&self.trace, span, go_on).ok().flatten();
            let args = raw.as_ref().map(|raw| Looked::at(raw, &self.trace, source));
            let text = |key: &str| args.as_ref()?.text(key);
            if !go_on() || !found(span, &text) {
                return;
            }
        }
    }
}

/// A plain file, with the block that was read last.
struct Blocks {
    file: File,
    /// Offset of the block's first byte.
    from: u64,
    block: Vec<u8>,
}

impl Blocks {
    fn bytes(&mut self, offset: u64, len: usize) -> io::Result<Vec<u8>> {
        let held = |this: &Self| {
            let start = usize::try_from(offset.checked_sub(this.from)?).ok()?;
            this.block
                .get(start..start.checked_add(len)?)
                .map(<[u8]>::to_vec)
        };
        if let Some(bytes) = held(self) {
            return Ok(bytes);
        }
        // Of spans that lie far apart, as steps do, a block would hold one each.
        let since = offset.checked_sub(self.from);
        let near = since.is_some_and(|since| since < 2 * BLOCK as u64);
        let most = len.max(if near { BLOCK } else { FAR }) as u64;
        self.file.seek(SeekFrom::Start(offset))?;
        self.from = offset;
        self.block.clear();
        (&mut self.file).take(most).read_to_end(&mut self.block)?;
        // At the end of the file there is less.
        Ok(self.block[..len.min(self.block.len())].to_vec())
    }
}

enum Opened {
    File(Blocks),
    Stream(Stream),
    Rows(Box<dyn RowArgs>),
}

impl ArgsReader {
    /// Nothing open yet.
    #[must_use]
    pub fn new() -> Self {
        Self::default()
    }

    /// The args of a span; `None` where none were recorded. What stands for something else, as hashes do, is replaced by
    /// what it stands for.
    ///
    /// Costs a read for plain files, a query for tables. For compressed files and archives it inflates from the
    /// start to the span unless it lies in or behind the 8 MiB that were read last.
    ///
    /// # Errors
    /// When the file is gone or was changed.
    pub fn read(
        &mut self,
        trace: &Trace,
        span: SpanId,
    ) -> Result<Option<Map<String, Value>>, LoadError> {
        let Some(raw) = self.raw(trace, span, &|| true)? else {
            return Ok(None);
        };
        let source = trace.lane(trace.spans().lane(span)).source;
        match (raw.args(trace, source), raw) {
            (None, Raw::Text(..)) => Err(changed(&trace.source(source).path)),
            (args, _) => Ok(args),
        }
    }

    fn raw(
        &mut self,
        trace: &Trace,
        span: SpanId,
        go_on: &dyn Fn() -> bool,
    ) -> Result<Option<Raw>, LoadError> {
        let reference = trace.spans().args(span);
        let source_id = trace.lane(trace.spans().lane(span)).source;
        let source = trace.source(source_id);
        if let ArgsOrigin::Rows(tables) = &source.args {
            let Some((table, row)) = reference.as_row() else {
                return Ok(None);
            };
            let Some(table) = tables.get(usize::from(table)) else {
                return Ok(None);
            };
            return Ok(Some(Raw::Row(self.row(source_id, source, table, row)?)));
        }
        let Some((offset, len)) = reference.as_text() else {
            return Ok(None);
        };
        let text = match &source.args {
            ArgsOrigin::None | ArgsOrigin::Rows(_) => return Ok(None),
            ArgsOrigin::Memory(buffer) => {
                let from = usize::try_from(offset).unwrap_or(usize::MAX);
                let rest = buffer.get(from..).unwrap_or_default();
                rest[..len.unwrap_or(rest.len()).min(rest.len())].to_vec()
            }
            origin => {
                let opened = self.opened(source_id, || open(&source.path, origin))?;
                opened
                    .text(offset, len, go_on)
                    .map_err(|e| LoadError::io(&source.path, &e))?
            }
        };
        Ok(Some(Raw::Text(text, importers::of_source(source))))
    }

    fn opened(
        &mut self,
        source: SourceId,
        open: impl FnOnce() -> Result<Opened, LoadError>,
    ) -> Result<&mut Opened, LoadError> {
        let entry = match self.open.iter().position(|(id, _)| *id == source) {
            Some(at) => self.open.remove(at),
            None => {
                if self.open.len() == OPEN {
                    self.open.remove(0);
                }
                (source, open()?)
            }
        };
        self.open.push(entry);
        let last = self.open.len() - 1;
        Ok(&mut self.open[last].1)
    }

    fn row(
        &mut self,
        id: SourceId,
        source: &Source,
        table: &str,
        row: i64,
    ) -> Result<Option<Map<String, Value>>, LoadError> {
        let Some(importer) = importers::of_source(source) else {
            return Ok(None);
        };
        let opened = self.opened(id, || importer.rows(&source.path).map(Opened::Rows))?;
        match opened {
            Opened::Rows(rows) => rows.read(table, row),
            Opened::File(_) | Opened::Stream(_) => Ok(None),
        }
    }
}

fn open(path: &Path, origin: &ArgsOrigin) -> Result<Opened, LoadError> {
    match origin {
        ArgsOrigin::File => open_regular(path)
            .map(|file| {
                Opened::File(Blocks {
                    file,
                    from: 0,
                    block: Vec::new(),
                })
            })
            .map_err(|e| LoadError::io(path, &e)),
        ArgsOrigin::Archive { archive, member } => {
            let (archive, member) = archive::find(archive, member)?;
            Ok(Opened::Stream(Stream::new(Restart::Member(
                archive, member,
            ))?))
        }
        _ => Ok(Opened::Stream(Stream::new(Restart::File(path.to_owned()))?)),
    }
}

fn changed(path: &Path) -> LoadError {
    LoadError::new(
        ErrorKind::Io,
        path,
        "The args cannot be read: the file is not what it was when it was opened.",
        "Open it again.",
    )
}

impl Opened {
    /// The bytes of an object; where its length is not known it is found by parsing.
    fn text(
        &mut self,
        offset: u64,
        len: Option<usize>,
        go_on: &dyn Fn() -> bool,
    ) -> io::Result<Vec<u8>> {
        if let Some(len) = len {
            return self.bytes(offset, len, go_on);
        }
        let mut len = 32 << 20;
        loop {
            let bytes = self.bytes(offset, len, go_on)?;
            let whole = bytes.len() < len || len >= LARGEST;
            match lenient::object(&bytes) {
                Some((_, used)) => return Ok(bytes[..used].to_vec()),
                None if whole => return Err(io::Error::other("the args do not end")),
                None => len *= 2,
            }
        }
    }

    fn bytes(&mut self, offset: u64, len: usize, go_on: &dyn Fn() -> bool) -> io::Result<Vec<u8>> {
        match self {
            Self::File(blocks) => blocks.bytes(offset, len),
            Self::Stream(stream) => stream.bytes(offset, len, go_on),
            Self::Rows(_) => Ok(Vec::new()),
        }
    }
}

/// How a stream begins again.
enum Restart {
    File(std::path::PathBuf),
    Member(Arc<Archive>, Member),
}

impl Restart {
    fn reader(&self) -> Result<Box<dyn Read + Send>, LoadError> {
        Ok(match self {
            Self::File(path) => Input::open(path)?.into_reader(),
            Self::Member(archive, member) => archive.input(member)?.into_reader(),
        })
    }
}

/// An inflated stream that can only go forward, with its last bytes kept.
struct Stream {
    restart: Restart,
    reader: Box<dyn Read + Send>,
    /// Offset of the window's first byte.
    from: u64,
    window: Vec<u8>,
    buffer: Vec<u8>,
}

impl Stream {
    fn new(restart: Restart) -> Result<Self, LoadError> {
        Ok(Self {
            reader: restart.reader()?,
            restart,
            from: 0,
            window: Vec::new(),
            buffer: Vec::new(),
        })
    }

    fn bytes(&mut self, offset: u64, len: usize, go_on: &dyn Fn() -> bool) -> io::Result<Vec<u8>> {
        if offset < self.from {
            self.reader = self.restart.reader().map_err(io::Error::other)?;
            self.from = 0;
            self.window.clear();
        }
        let end = offset.saturating_add(len as u64);
        while self.from + (self.window.len() as u64) < end {
            if !go_on() {
                return Err(io::Error::other("cancelled"));
            }
            self.buffer.resize(BUFFER, 0);
            let got = match self.reader.read(&mut self.buffer) {
                Err(e) if e.kind() == io::ErrorKind::Interrupted => continue,
                result => result?,
            };
            if got == 0 {
                break;
            }
            self.window.extend_from_slice(&self.buffer[..got]);
            // What is asked for stays, however long it is.
            if self.window.len() > 2 * WINDOW {
                let wanted =
                    usize::try_from(offset.saturating_sub(self.from)).unwrap_or(usize::MAX);
                let drop = (self.window.len() - WINDOW).min(wanted);
                self.window.drain(..drop);
                self.from += drop as u64;
            }
        }
        let start = usize::try_from(offset - self.from).unwrap_or(usize::MAX);
        let rest = self.window.get(start..).unwrap_or_default();
        Ok(rest[..len.min(rest.len())].to_vec())
    }
}
