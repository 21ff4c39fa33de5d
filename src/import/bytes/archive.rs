//! Traces inside archives: members of tar, tar.gz and zip files as streams.
//!
//! Nothing is unpacked to disk and no member is held in memory; member names are labels, never paths. An archive
//! inside an archive is named and left out.

use std::fs::File;
use std::io::{self, BufReader, Read, Seek, SeekFrom};
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex, PoisonError};

use flate2::Crc;
use flate2::bufread::{DeflateDecoder, MultiGzDecoder};

use super::damage::{CHECKSUM, Fault};
use super::head::{HEAD, Head};
use super::input::Input;
use super::packing::{Packing, compression_name, zip_cause, zip_entries};
use super::small::open_regular;
use crate::import::contract::error::{ErrorKind, LoadError};
use crate::import::contract::progress::Progress;
use crate::import::contract::report::NoticeKind;
use crate::model::ArgsOrigin;

/// Members that are looked at.
const MEMBERS: usize = 5_000;

/// Buffer in front of decoders.
const BUFFER: usize = 256 << 10;

/// An archive, open for reading its members again and again.
pub(crate) struct Archive {
    path: PathBuf,
    form: Form,
}

enum Form {
    /// Members at byte ranges of the file.
    Tar,
    /// Members at byte ranges of the inflated content: one decoder is shared, so that reading the members in order
    /// inflates once.
    TarGz(Mutex<Option<Box<TarGz>>>),
    Zip,
}

struct TarGz {
    position: u64,
    decoder: MultiGzDecoder<BufReader<File>>,
}

/// A member that can be read.
#[derive(Debug, Clone)]
pub(crate) struct Member {
    /// Its name inside the archive.
    pub name: String,
    /// Its bytes as stored.
    pub stored: u64,
    /// Whether it is gzip-compressed itself.
    pub compressed: bool,
    offset: u64,
    /// Bytes after undoing the archive's own compression.
    size: u64,
    deflated: bool,
    /// The checksum of those bytes, where the archive has one.
    crc: Option<u32>,
}

/// What an archive holds.
pub(crate) struct Listing<T> {
    /// Members in order of their names; of a tar.gz in the order in which they lie, which is read fastest. With each what
    /// was made of its head.
    pub members: Vec<(Member, T)>,
    /// Members that cannot be read at all (encrypted, other compression), with the reason.
    pub unreadable: Vec<(String, String)>,
    /// True when there were more than 5,000.
    pub too_many: bool,
    /// Members that bear the name of a later one.
    pub hidden: u64,
    /// What is wrong with the archive.
    pub damage: Option<Broken>,
}

/// What is wrong with a tar archive.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Broken {
    /// Its bytes.
    Bytes(Fault),
    /// The header of a member.
    Header,
}

impl<T> Default for Listing<T> {
    fn default() -> Self {
        Self {
            members: Vec::new(),
            unreadable: Vec::new(),
            too_many: false,
            hidden: 0,
            damage: None,
        }
    }
}

impl Broken {
    /// Errors of the tar reader carry bytes of the file in their texts; they are not to be shown.
    fn of(error: &io::Error, offset: u64) -> Self {
        match Fault::of(error, offset) {
            Fault::Unreadable if error.kind() == io::ErrorKind::Other => Self::Header,
            fault => Self::Bytes(fault),
        }
    }

    /// True where members may be missing.
    pub fn is_cut(self) -> bool {
        !matches!(self, Self::Bytes(Fault::Checksum | Fault::Trailing))
    }

    /// `it ends early`, …
    pub fn phrase(self) -> &'static str {
        match self {
            Self::Bytes(fault) => fault.phrase(),
            Self::Header => "the header of a member is broken",
        }
    }

    /// Kind, machine name and text of the notice.
    pub fn notice(self) -> (NoticeKind, &'static str, String) {
        match self {
            Self::Bytes(Fault::Checksum) => (
                NoticeKind::Damaged,
                "bad_checksum",
                "The archive does not match its gzip checksum: some of what is in it may be wrong."
                    .to_owned(),
            ),
            Self::Bytes(Fault::Trailing) => (
                NoticeKind::Skipped,
                "trailing_data",
                "Something that is no gzip data follows the archive; it was not read.".to_owned(),
            ),
            broken => (
                NoticeKind::Damaged,
                "archive_damaged",
                format!(
                    "The archive is damaged ({}): what lies before that is read.",
                    broken.phrase()
                ),
            ),
        }
    }
}

impl Archive {
    /// An archive; `compressed` for tar.gz.
    #[must_use]
    pub fn new(path: &Path, packing: Packing, compressed: bool) -> Arc<Self> {
        let form = match (packing, compressed) {
            (Packing::Zip, _) => Form::Zip,
            (Packing::Tar, false) => Form::Tar,
            (Packing::Tar, true) => Form::TarGz(Mutex::new(None)),
        };
        Arc::new(Self {
            path: path.to_owned(),
            form,
        })
    }

    /// The archive file.
    pub fn path(&self) -> &Path {
        &self.path
    }

    /// Looks at every member: `look` gets its head. Cancelling ends it.
    ///
    /// # Errors
    /// When the file cannot be read or its directory makes no sense, and on cancel.
    pub fn list<T>(
        &self,
        progress: &Progress,
        look: impl Fn(&Head) -> T,
    ) -> Result<Listing<T>, LoadError> {
        let mut listing = self.list_all(progress, &look)?;
        progress.check(&self.path)?;
        // Of equal names the last one counts, as when unpacking.
        listing.members.reverse();
        listing
            .members
            .sort_by(|(a, _), (b, _)| a.name.cmp(&b.name));
        let before = listing.members.len();
        listing.members.dedup_by(|(b, _), (a, _)| a.name == b.name);
        listing.hidden += (before - listing.members.len()) as u64;
        if self.is_sequential() {
            listing.members.sort_by_key(|(m, _)| m.offset);
        }
        Ok(listing)
    }

    fn list_all<T>(
        &self,
        progress: &Progress,
        look: &impl Fn(&Head) -> T,
    ) -> Result<Listing<T>, LoadError> {
        let file = open_regular(&self.path).map_err(|e| LoadError::io(&self.path, &e))?;
        match &self.form {
            Form::Zip => self.list_zip(file, progress, look),
            Form::Tar => {
                let bytes = file.metadata().map_err(|e| LoadError::io(&self.path, &e))?;
                let mut archive = tar::Archive::new(file);
                let entries = archive.entries_with_seek();
                let mut listing = list_tar(entries, progress, look);
                listing.limit_sizes(bytes.len());
                Ok(listing)
            }
            Form::TarGz(_) => {
                let inflated = MultiGzDecoder::new(BufReader::with_capacity(BUFFER, file));
                let mut archive = tar::Archive::new(Watched {
                    inner: inflated,
                    progress,
                    passed: 0,
                });
                let mut listing = list_tar(archive.entries(), progress, look);
                let mut rest = archive.into_inner();
                if listing.damage.is_none() && !listing.too_many {
                    // What follows the last member belongs to the checksum.
                    let end = io::copy(&mut rest, &mut io::sink());
                    listing.damage = end.err().map(|e| Broken::of(&e, rest.passed));
                }
                if listing.damage.is_some_and(Broken::is_cut) {
                    listing.limit_sizes(rest.passed);
                }
                Ok(listing)
            }
        }
    }

    fn list_zip<T>(
        &self,
        mut file: File,
        progress: &Progress,
        look: &impl Fn(&Head) -> T,
    ) -> Result<Listing<T>, LoadError> {
        let bytes = file.metadata().map_err(|e| LoadError::io(&self.path, &e))?;
        let stated = zip_entries(&mut file, bytes.len());
        let mut zip = zip::ZipArchive::new(file).map_err(|e| {
            LoadError::new(
                ErrorKind::Corrupt,
                &self.path,
                format!("The zip archive cannot be read: {}.", zip_cause(&e)),
                "Copy it again, or unpack it with another program and open the folder.",
            )
        })?;
        let mut listing = Listing {
            too_many: zip.len() > MEMBERS,
            // The directory was read by name: of equal ones the last is there.
            hidden: stated.map_or(0, |n| n.saturating_sub(zip.len() as u64)),
            ..Listing::default()
        };
        let mut members = Vec::new();
        for i in 0..zip.len().min(MEMBERS) {
            progress.check(&self.path)?;
            let named = zip.name_for_index(i).map(str::to_owned);
            let (name, found) = match zip.by_index_raw(i) {
                Ok(entry) if entry.is_dir() => continue,
                Ok(entry) => (entry.name().to_owned(), zip_member(&entry)),
                Err(e) => {
                    let name = named.unwrap_or_else(|| format!("member {}", i + 1));
                    (name, Err(zip_cause(&e)))
                }
            };
            match found {
                Ok(member) => members.push(member),
                Err(why) => listing.unreadable.push((name, why)),
            }
        }
        let shared = take_out_shared(&mut members);
        let why = "its bytes belong to another member of the archive as well";
        let shared = shared.into_iter().map(|m| (m.name, why.to_owned()));
        listing.unreadable.extend(shared);
        for mut member in members {
            progress.check(&self.path)?;
            let head = self
                .reader(&member)
                .and_then(|reader| Head::of_reader(reader, progress));
            match head {
                Ok(head) => {
                    member.compressed = head.compressed;
                    listing.members.push((member, look(&head)));
                }
                Err(e) => listing.unreadable.push((member.name, e.to_string())),
            }
        }
        listing.limit_sizes(bytes.len());
        Ok(listing)
    }

    /// The member's bytes, with the archive's own compression undone.
    ///
    /// # Errors
    /// When the file cannot be opened.
    fn reader(&self, member: &Member) -> io::Result<Box<dyn Read + Send>> {
        let mut file = open_regular(&self.path)?;
        file.seek(SeekFrom::Start(member.offset))?;
        let stored = file.take(member.stored);
        let reader: Box<dyn Read + Send> = if member.deflated {
            let buffered = BufReader::with_capacity(BUFFER, stored);
            Box::new(DeflateDecoder::new(buffered).take(member.size))
        } else {
            Box::new(stored)
        };
        Ok(match member.crc {
            Some(expected) => Box::new(Checked {
                inner: reader,
                crc: Crc::new(),
                expected,
            }),
            None => reader,
        })
    }

    /// A member as an input.
    ///
    /// # Errors
    /// When the archive cannot be opened any more.
    pub fn input(self: &Arc<Self>, member: &Member) -> Result<Input, LoadError> {
        let reader: Box<dyn Read + Send> = match &self.form {
            Form::TarGz(_) => Box::new(Shared {
                archive: Arc::clone(self),
                position: member.offset,
                end: member.offset.saturating_add(member.size),
            }),
            _ => self
                .reader(member)
                .map_err(|e| LoadError::io(&self.path, &e))?,
        };
        let args = ArgsOrigin::Archive {
            archive: self.path.clone(),
            member: member.name.clone(),
        };
        Ok(Input::from_reader(
            self.path.join(&member.name),
            member.stored,
            member.compressed,
            args,
            reader,
        ))
    }

    /// True when members are read fastest one after the other, in order.
    #[must_use]
    pub fn is_sequential(&self) -> bool {
        matches!(self.form, Form::TarGz(_))
    }
}

/// A member that a trace names, for reading args again. Looks at the whole archive once.
///
/// # Errors
/// When the archive or the member is gone.
pub(crate) fn find(path: &Path, name: &str) -> Result<(Arc<Archive>, Member), LoadError> {
    let progress = Progress::new();
    let head = Head::of_file(path, &progress).map_err(|e| LoadError::io(path, &e))?;
    let packing = Packing::of(&head.bytes).unwrap_or(Packing::Tar);
    let archive = Archive::new(path, packing, head.compressed);
    let listing = archive.list(&progress, |_head| ())?;
    match listing.members.into_iter().find(|(m, ())| m.name == name) {
        Some((member, ())) => Ok((archive, member)),
        None => Err(LoadError::new(
            ErrorKind::Io,
            path,
            format!("The archive has no member {name} any more."),
            "Open the archive again.",
        )),
    }
}

fn zip_member(entry: &zip::read::ZipFile<'_, File>) -> Result<Member, String> {
    if entry.encrypted() {
        return Err("it is encrypted".to_owned());
    }
    let deflated = match entry.compression() {
        zip::CompressionMethod::Stored => false,
        zip::CompressionMethod::Deflated => true,
        other => {
            let name = compression_name(other);
            return Err(format!("its compression ({name}) is not supported"));
        }
    };
    Ok(Member {
        name: entry.name().to_owned(),
        stored: entry.compressed_size(),
        compressed: false,
        offset: entry.data_start().ok_or("its data is not there")?,
        size: entry.size(),
        deflated,
        crc: Some(entry.crc32()),
    })
}

/// Takes out members that lie where others lie: a few bytes could stand for any number of them, each read anew. No program
/// packs like that. The first one that reaches a place keeps it.
fn take_out_shared(members: &mut Vec<Member>) -> Vec<Member> {
    let mut order: Vec<usize> = (0..members.len()).collect();
    order.sort_by_key(|&i| (members[i].offset, i));
    let mut end = 0;
    let mut shared = vec![false; members.len()];
    for i in order {
        let member = &members[i];
        // What is empty lies nowhere.
        if member.stored > 0 {
            shared[i] = member.offset < end;
            if !shared[i] {
                end = member.offset.saturating_add(member.stored);
            }
        }
    }
    let mut shared = shared.into_iter();
    let taken = members.extract_if(.., |_| shared.next().unwrap_or(false));
    taken.collect()
}

impl<T> Listing<T> {
    /// Members hold no more than lies behind their beginning, whatever their headers state.
    fn limit_sizes(&mut self, bytes: u64) {
        for (member, _) in &mut self.members {
            let most = bytes.saturating_sub(member.offset);
            member.stored = member.stored.min(most);
            if !member.deflated {
                member.size = member.size.min(most);
            }
        }
    }
}

fn list_tar<'a, R: Read + 'a, T>(
    entries: io::Result<tar::Entries<'a, R>>,
    progress: &Progress,
    look: &impl Fn(&Head) -> T,
) -> Listing<T> {
    let mut listing = Listing::default();
    let entries = match entries {
        Ok(entries) => entries,
        Err(e) => {
            listing.damage = Some(Broken::of(&e, 0));
            return listing;
        }
    };
    for entry in entries {
        if progress.is_cancelled() {
            break;
        }
        if listing.members.len() == MEMBERS {
            listing.too_many = true;
            break;
        }
        let mut entry = match entry {
            Ok(entry) => entry,
            Err(e) => {
                listing.damage = Some(Broken::of(&e, 1));
                break;
            }
        };
        if !matches!(
            entry.header().entry_type(),
            tar::EntryType::Regular | tar::EntryType::Continuous
        ) {
            continue;
        }
        let name = String::from_utf8_lossy(&entry.path_bytes()).into_owned();
        let size = entry.size();
        let offset = entry.raw_file_position();
        let mut start = Vec::new();
        // Enough for a head even where the member is compressed itself.
        if let Err(e) = entry.by_ref().take(4 * HEAD as u64).read_to_end(&mut start) {
            listing.damage = Some(Broken::of(&e, 1));
            break;
        }
        let mut head = match Head::of_reader(start.as_slice(), progress) {
            Ok(head) => head,
            Err(e) => {
                listing.unreadable.push((name, e.to_string()));
                continue;
            }
        };
        head.whole &= start.len() as u64 == size;
        let member = Member {
            name,
            stored: size,
            compressed: head.compressed,
            offset,
            size,
            deflated: false,
            crc: None,
        };
        listing.members.push((member, look(&head)));
    }
    listing
}

/// A reader that ends with an error when somebody cancels, so that skipping over a huge member can be stopped.
struct Watched<'a, R> {
    inner: R,
    progress: &'a Progress,
    passed: u64,
}

impl<R: Read> Read for Watched<'_, R> {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        if self.progress.is_cancelled() {
            return Err(io::Error::other("cancelled"));
        }
        let got = self.inner.read(buffer)?;
        self.passed += got as u64;
        Ok(got)
    }
}

/// A reader whose end is an error where the bytes are not those that were put into the archive.
struct Checked<R> {
    inner: R,
    crc: Crc,
    expected: u32,
}

impl<R: Read> Read for Checked<R> {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        let got = self.inner.read(buffer)?;
        self.crc.update(&buffer[..got]);
        if got == 0 && !buffer.is_empty() && self.crc.sum() != self.expected {
            return Err(io::Error::new(io::ErrorKind::InvalidData, CHECKSUM));
        }
        Ok(got)
    }
}

/// A member of a tar.gz: reads through the archive's shared decoder, which starts anew when it is already past.
struct Shared {
    archive: Arc<Archive>,
    position: u64,
    end: u64,
}

impl Read for Shared {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        let Form::TarGz(state) = &self.archive.form else {
            return Ok(0);
        };
        let mut state = state.lock().unwrap_or_else(PoisonError::into_inner);
        let room = usize::try_from(self.end - self.position).unwrap_or(usize::MAX);
        let want = buffer.len().min(room);
        if want == 0 {
            return Ok(0);
        }
        let tar = match state.take() {
            Some(tar) if tar.position <= self.position => state.insert(tar),
            _ => state.insert(Box::new(TarGz {
                position: 0,
                decoder: MultiGzDecoder::new(BufReader::with_capacity(
                    BUFFER,
                    open_regular(&self.archive.path)?,
                )),
            })),
        };
        let skip = self.position - tar.position;
        let skipped = io::copy(&mut tar.decoder.by_ref().take(skip), &mut io::sink())?;
        tar.position += skipped;
        if skipped < skip {
            return Err(io::ErrorKind::UnexpectedEof.into());
        }
        let got = tar.decoder.read(&mut buffer[..want])?;
        tar.position += got as u64;
        self.position += got as u64;
        if got == 0 {
            return Err(io::ErrorKind::UnexpectedEof.into());
        }
        Ok(got)
    }
}
