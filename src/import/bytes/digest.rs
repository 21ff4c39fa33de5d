//! SHA-256 of files (FIPS 180-4), for whoever wants to know later which bytes a figure came from.

use std::io::{self, Read};
use std::path::Path;

use super::small::open_regular;
use crate::import::contract::progress::Progress;

/// The digest of a file in 64 hexadecimal digits.
///
/// # Errors
/// What the system says, and `Interrupted` on cancel.
pub fn sha256_of(path: &Path, progress: &Progress) -> io::Result<String> {
    let mut file = open_regular(path)?;
    let mut sum = Sha256::new();
    let mut block = vec![0; 256 << 10];
    loop {
        if progress.is_cancelled() {
            return Err(io::ErrorKind::Interrupted.into());
        }
        match file.read(&mut block) {
            Ok(0) => return Ok(sum.hex()),
            Ok(n) => sum.add(&block[..n]),
            Err(e) if e.kind() == io::ErrorKind::Interrupted => {}
            Err(e) => return Err(e),
        }
    }
}

/// The first 32 bits of the fractional parts of the cube roots of the first 64 primes.
#[rustfmt::skip]
const ROUNDS: [u32; 64] = [
    0x428a_2f98, 0x7137_4491, 0xb5c0_fbcf, 0xe9b5_dba5, 0x3956_c25b, 0x59f1_11f1, 0x923f_82a4, 0xab1c_5ed5,
    0xd807_aa98, 0x1283_5b01, 0x2431_85be, 0x550c_7dc3, 0x72be_5d74, 0x80de_b1fe, 0x9bdc_06a7, 0xc19b_f174,
    0xe49b_69c1, 0xefbe_4786, 0x0fc1_9dc6, 0x240c_a1cc, 0x2de9_2c6f, 0x4a74_84aa, 0x5cb0_a9dc, 0x76f9_88da,
    0x983e_5152, 0xa831_c66d, 0xb003_27c8, 0xbf59_7fc7, 0xc6e0_0bf3, 0xd5a7_9147, 0x06ca_6351, 0x1429_2967,
    0x27b7_0a85, 0x2e1b_2138, 0x4d2c_6dfc, 0x5338_0d13, 0x650a_7354, 0x766a_0abb, 0x81c2_c92e, 0x9272_2c85,
    0xa2bf_e8a1, 0xa81a_664b, 0xc24b_8b70, 0xc76c_51a3, 0xd192_e819, 0xd699_0624, 0xf40e_3585, 0x106a_a070,
    0x19a4_c116, 0x1e37_6c08, 0x2748_774c, 0x34b0_bcb5, 0x391c_0cb3, 0x4ed8_aa4a, 0x5b9c_ca4f, 0x682e_6ff3,
    0x748f_82ee, 0x78a5_636f, 0x84c8_7814, 0x8cc7_0208, 0x90be_fffa, 0xa450_6ceb, 0xbef9_a3f7, 0xc671_78f2,
];

/// Those of the square roots of the first 8 primes.
#[rustfmt::skip]
const START: [u32; 8] = [
    0x6a09_e667, 0xbb67_ae85, 0x3c6e_f372, 0xa54f_f53a, 0x510e_527f, 0x9b05_688c, 0x1f83_d9ab, 0x5be0_cd19,
];

struct Sha256 {
    state: [u32; 8],
    /// What is no whole block yet.
    rest: Vec<u8>,
    bytes: u64,
}

impl Sha256 {
    fn new() -> Self {
        Self {
            state: START,
            rest: Vec::with_capacity(128),
            bytes: 0,
        }
    }

    fn add(&mut self, mut bytes: &[u8]) {
        self.bytes += bytes.len() as u64;
        if !self.rest.is_empty() {
            let (own, others) = bytes.split_at(bytes.len().min(64 - self.rest.len()));
            self.rest.extend_from_slice(own);
            bytes = others;
            if self.rest.len() < 64 {
                return;
            }
            let whole = std::mem::take(&mut self.rest);
            self.blocks(&whole);
        }
        let (whole, rest) = bytes.split_at(bytes.len() / 64 * 64);
        self.blocks(whole);
        self.rest.extend_from_slice(rest);
    }

    fn hex(mut self) -> String {
        let bits = self.bytes.wrapping_mul(8);
        let mut end = std::mem::take(&mut self.rest);
        end.push(0x80);
        end.resize((end.len() + 8).div_ceil(64) * 64 - 8, 0);
        end.extend_from_slice(&bits.to_be_bytes());
        self.blocks(&end);
        self.state
            .iter()
            .map(|word| format!("{word:08x}"))
            .collect()
    }

    fn blocks(&mut self, bytes: &[u8]) {
        for block in bytes.chunks_exact(64) {
            let mut words = [0_u32; 64];
            for (word, four) in words.iter_mut().zip(block.chunks_exact(4)) {
                *word = four
                    .iter()
                    .fold(0, |word, &byte| word << 8 | u32::from(byte));
            }
            for i in 16..64 {
                let (a, b) = (words[i - 15], words[i - 2]);
                let a = a.rotate_right(7) ^ a.rotate_right(18) ^ (a >> 3);
                let b = b.rotate_right(17) ^ b.rotate_right(19) ^ (b >> 10);
                words[i] = words[i - 16]
                    .wrapping_add(a)
                    .wrapping_add(words[i - 7])
                    .wrapping_add(b);
            }
            let [mut a, mut b, mut c, mut d, mut e, mut f, mut g, mut h] = self.state;
            for (word, round) in words.iter().zip(ROUNDS) {
                let sum = e.rotate_right(6) ^ e.rotate_right(11) ^ e.rotate_right(25);
                let first = h
                    .wrapping_add(sum)
                    .wrapping_add((e & f) ^ (!e & g))
                    .wrapping_add(round)
                    .wrapping_add(*word);
                let sum = a.rotate_right(2) ^ a.rotate_right(13) ^ a.rotate_right(22);
                let second = sum.wrapping_add((a & b) ^ (a & c) ^ (b & c));
                (h, g, f, e) = (g, f, e, d.wrapping_add(first));
                (d, c, b, a) = (c, b, a, first.wrapping_add(second));
            }
            for (old, new) in self.state.iter_mut().zip([a, b, c, d, e, f, g, h]) {
                *old = old.wrapping_add(new);
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn of(pieces: &[&[u8]]) -> String {
        let mut sum = Sha256::new();
        for piece in pieces {
            sum.add(piece);
        }
        sum.hex()
    }

    #[test]
    fn the_digests_of_the_standard() {
        let text = b"abcdbcdecdefdefgefghfghighijhijkijkljklmklmnlmnomnopnopq";
        let million = vec![b'a'; 1_000_000];
        for (bytes, digest) in [
            (
                &b""[..],
                "e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855",
            ),
            (
                b"abc",
                "ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad",
            ),
            (
                text,
                "248d6a61d20638b8e5c026930c3e6039a33ce45964ff2167f6ecedd419db06c1",
            ),
            (
                &million,
                "cdc76e5c9914fb9281a1c7e284d73e67f1809a48a497200e046d39ccc7112cd0",
            ),
        ] {
            assert_eq!(of(&[bytes]), digest);
            let (first, second) = bytes.split_at(bytes.len() / 3);
            assert_eq!(of(&[first, second, b""]), digest);
        }
    }
}
