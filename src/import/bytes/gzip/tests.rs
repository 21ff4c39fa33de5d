//! Whole, damaged and hostile gzip data.

use std::io::Write as _;

use flate2::Compression;
use flate2::bufread::MultiGzDecoder;
use flate2::write::GzEncoder;

use super::*;

fn gzip(text: &[u8]) -> Vec<u8> {
    let mut encoder = GzEncoder::new(Vec::new(), Compression::fast());
    encoder.write_all(text).expect("memory");
    encoder.finish().expect("memory")
}

/// Text that does not compress away.
fn text(number: u32, len: u32) -> Vec<u8> {
    let line = |i: u32| {
        let odd = (i + number * 7_919).wrapping_mul(2_654_435_761);
        format!("{{\"m\":{number},\"i\":{odd:x}}}\n")
    };
    (0..len).flat_map(|i| line(i).into_bytes()).collect()
}

/// What comes out, asked for `step` bytes at a time, the fault at its end, and what is said of the rest.
fn read(bytes: &[u8], step: usize) -> (Vec<u8>, Option<Fault>, String) {
    let gaps = SharedGaps::default();
    let mut members = Members::new(bytes, gaps.clone());
    let (mut out, mut part) = (Vec::new(), vec![0; step]);
    let fault = loop {
        match members.read(&mut part) {
            Ok(0) => break None,
            Ok(got) => out.extend_from_slice(&part[..got]),
            Err(e) if e.kind() == io::ErrorKind::Interrupted => {}
            Err(e) => break Some(Fault::of(&e, out.len() as u64)),
        }
    };
    assert_eq!(members.read(&mut part).expect("over"), 0);
    let mut report = crate::import::contract::report::ImportReport::default();
    gaps.with(|gaps| gaps.report(None, &mut report));
    let said: Vec<String> = report.notices.iter().map(ToString::to_string).collect();
    (out, fault, said.join("\n"))
}

fn contains(all: &[u8], part: &[u8]) -> bool {
    memchr::memmem::find(all, part).is_some()
}

#[test]
fn whole_members_are_read_as_any_decoder_does() {
    let parts = [text(1, 3), Vec::new(), text(2, 40_000), text(3, 1)];
    let mut named = flate2::GzBuilder::new()
        .filename("a.pfw")
        .comment("recorded")
        .extra(vec![7; 300])
        .write(Vec::new(), Compression::best());
    named.write_all(&parts[0]).expect("memory");
    let mut bytes = named.finish().expect("memory");
    parts.iter().for_each(|p| bytes.extend(gzip(p)));
    let mut expected = Vec::new();
    let mut decoder = MultiGzDecoder::new(bytes.as_slice());
    decoder.read_to_end(&mut expected).expect("whole");
    for step in [1, 100, 32 << 10, 1 << 20] {
        assert_eq!(read(&bytes, step), (expected.clone(), None, String::new()));
    }
    assert_eq!(read(&[], 10), (Vec::new(), None, String::new()));
}

#[test]
fn a_damaged_member_costs_no_other_one() {
    let parts: Vec<Vec<u8>> = (0..6).map(|n| text(n, 1 + n * n * 150)).collect();
    let packed: Vec<Vec<u8>> = parts.iter().map(|p| gzip(p)).collect();
    for hit in 0..5 {
        for place in [3, 11, packed[hit].len() / 2, packed[hit].len() - 12] {
            let mut bytes = packed.clone();
            bytes[hit][place] ^= 0x55;
            let bytes = bytes.concat();
            let first = read(&bytes, 32 << 10);
            for (n, part) in parts.iter().enumerate() {
                assert!(n == hit || contains(&first.0, part), "{hit} {place} {n}");
            }
            assert!(first.1.is_none() && !first.2.is_empty(), "{hit} {place}");
            // Whoever reads it sees the same text.
            for step in [13, 777, 256 << 10] {
                assert!(read(&bytes, step) == first, "{hit} {place} {step}");
            }
        }
    }
}

#[test]
fn what_lies_between_members_is_counted_and_placed() {
    let parts = [text(0, 2), text(1, 2)];
    let [a, b] = [gzip(&parts[0]), gzip(&parts[1])];
    let cut = &b[..b.len() - 6];
    for (between, bytes) in [(&b"nonsense"[..], 8), (&[0; 512], 512), (cut, cut.len())] {
        let (out, fault, said) = read(&[&a, between, &b].concat(), 100);
        assert!(out.starts_with(&parts[0]) && out.ends_with(&parts[1]));
        assert_eq!(fault, None);
        let expected = format!(
            "damaged: Parts of the compressed data are damaged ({bytes} bytes of the file in all): what can be read of \
             them and all that follows is shown, the rest of them is lost. Places are those of the text. [first: byte "
        );
        assert!(said.starts_with(&expected), "{said}");
    }
    // A wrong checksum alone: nothing is left out.
    let mut wrong = a.clone();
    let last = wrong.len() - 8;
    wrong[last] ^= 1;
    let (out, fault, said) = read(&[&wrong[..], &b].concat(), 100);
    assert_eq!((out, fault), (parts.concat(), None));
    assert!(said.contains("do not match their checksums"), "{said}");
    // At the end there is nothing to go on with.
    for (end, expected) in [
        (&wrong[..], Fault::Checksum),
        (&a[..a.len() - 20], Fault::Early),
        (&b"no gzip"[..], Fault::Trailing),
        (&[0x1f, 0x8b], Fault::Early),
    ] {
        let (_, fault, said) = read(&[&b, end].concat(), 100);
        assert_eq!((fault, said.as_str()), (Some(expected), ""));
    }
}

#[test]
fn members_that_a_damaged_one_ran_through_are_read() {
    let [b, c, d] = [1, 2, 3].map(|n| text(n, 50));
    let [packed_b, packed_c] = [gzip(&b), gzip(&c)];
    // The length of a stored block was damaged: it ends where the data of another member begins, and so does the member.
    let inside = [&packed_b, &packed_c[..10]].concat();
    let len = u16::try_from(inside.len()).expect("short");
    let mut bytes = gzip(&[])[..10].to_vec();
    bytes.push(0);
    bytes.extend(len.to_le_bytes());
    bytes.extend((!len).to_le_bytes());
    bytes.extend(inside);
    bytes.extend(&packed_c[10..]);
    for more in [Vec::new(), d] {
        let bytes = match more.len() {
            0 => bytes.clone(),
            _ => [bytes.clone(), gzip(&more)].concat(),
        };
        let (out, fault, said) = read(&bytes, 100);
        let whole = [b.as_slice(), &c, &more].concat();
        assert!(out.ends_with(&whole) && fault.is_none(), "{fault:?}");
        assert!(said.contains("(15 bytes of the file in all)"), "{said}");
    }
}

#[test]
fn there_may_be_as_many_damaged_members_as_whole_ones() {
    let [mut wrong, whole] = [gzip(b"{\"a\":1}\n"), gzip(&text(1, 3))];
    let sum = wrong.len() - 8;
    wrong[sum] ^= 1;
    let (out, ..) = read(&wrong.repeat(5_000), 32 << 10);
    assert_eq!(out, b"{\"a\":1}\n".repeat(5_000));
    wrong.truncate(sum);
    let (out, fault, said) = read(&[wrong, whole].concat().repeat(5_000), 32 << 10);
    assert_eq!(memchr::memmem::find_iter(&out, &text(1, 3)).count(), 5_000);
    assert!(fault.is_none() && said.contains("(5,000×)"), "{said}");
}

#[test]
fn a_torn_line_ends_before_the_next_member() {
    let long = text(0, 3_000);
    let mut bytes = gzip(&long);
    bytes.truncate(bytes.len() / 2);
    bytes.extend(gzip(b"{\"next\":1}\n"));
    let (out, fault, _) = read(&bytes, 32 << 10);
    assert!(out.ends_with(b"\n{\"next\":1}\n") && fault.is_none());
    let common = out.iter().zip(&long).take_while(|(a, b)| a == b).count();
    assert!(common > long.len() / 3, "{common}");
}

#[test]
fn marks_that_begin_nothing_cost_no_more_than_reading() {
    // Members by their headers, each of which runs into a stored block that never ends.
    let mut mark = vec![0x1f, 0x8b, 8, 0, 0, 0, 0, 0, 0, 0, 0, 0xff, 0xff, 0, 0];
    mark.extend_from_slice(
        b"some text that is long enough to be taken for some, so that it is one",
    );
    let mut bytes = gzip(&text(0, 10));
    while bytes.len() < 4 << 20 {
        bytes.extend_from_slice(&mark);
    }
    let (out, ..) = read(&bytes, 32 << 10);
    assert!(out.len() < 40 * bytes.len(), "{}", out.len());
}
