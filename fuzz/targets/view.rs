#![no_main]
//! See `support/draw.rs`.

use libfuzzer_sys::fuzz_target;

#[path = "../support/draw.rs"]
mod draw;
#[path = "../support/folder.rs"]
mod folder;

fuzz_target!(|data: &[u8]| draw::view(folder::scratch(), data));
