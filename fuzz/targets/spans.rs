#![no_main]
//! See `support/entry.rs`.

use libfuzzer_sys::fuzz_target;

#[path = "../support/entry.rs"]
#[allow(dead_code)]
mod entry;
#[path = "../support/folder.rs"]
mod folder;

fuzz_target!(|data: &[u8]| entry::spans(folder::scratch(), data));
