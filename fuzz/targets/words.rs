#![no_main]
//! See `support/words.rs`.

use libfuzzer_sys::fuzz_target;

#[path = "../support/folder.rs"]
mod folder;
#[path = "../support/words.rs"]
#[allow(dead_code)]
mod words;

const TRACE: &[u8] = include_bytes!("../support/small.json");

fuzz_target!(|data: &[u8]| words::words(folder::scratch(), data, TRACE));
