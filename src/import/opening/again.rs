//! A source read once more as text, to copy from it what a cut keeps.

use crate::import::bytes::archive;
use crate::import::bytes::input::Input;
use crate::import::contract::error::LoadError;
use crate::import::contract::progress::Progress;
use crate::import::importers;
use crate::model::{ArgsOrigin, Cut, SourceId, Trace};

/// The file of a source as text that holds nothing but what a cut keeps, byte for byte. None where its format has no such
/// text, or the file is not what it was, or not whole.
///
/// # Errors
/// When the file is gone, and on cancel.
pub fn cut_text(
    trace: &Trace,
    source: SourceId,
    cut: &Cut,
    progress: &Progress,
) -> Result<Option<Vec<u8>>, LoadError> {
    let of = trace.source(source);
    let Some(importer) = importers::of_source(of) else {
        return Ok(None);
    };
    let input = match &of.args {
        ArgsOrigin::File | ArgsOrigin::Gzip => Input::open(&of.path)?,
        ArgsOrigin::Archive { archive, member } => {
            let (archive, member) = archive::find(archive, member)?;
            archive.input(&member)?
        }
        ArgsOrigin::None | ArgsOrigin::Memory(_) | ArgsOrigin::Rows(_) => return Ok(None),
    };
    importer.cut(input, (trace, source), cut, progress)
}
