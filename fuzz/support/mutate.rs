//! Changes to an input that look like what happens to files: flipped bytes, cuts, splices, stray structure, numbers out
//! of range. The same seed gives the same changes.

/// A small generator of random numbers (xorshift64*): equal seeds give equal inputs on every machine.
pub struct Random(u64);

impl Random {
    pub fn new(seed: u64) -> Self {
        Self(seed.wrapping_mul(0x9E37_79B9_7F4A_7C15) | 1)
    }

    fn next(&mut self) -> u64 {
        self.0 ^= self.0 >> 12;
        self.0 ^= self.0 << 25;
        self.0 ^= self.0 >> 27;
        self.0.wrapping_mul(0x2545_F491_4F6C_DD1D)
    }

    /// A number below `n`; 0 for 0.
    pub fn below(&mut self, n: usize) -> usize {
        let n = u64::try_from(n).unwrap_or(u64::MAX).max(1);
        usize::try_from((self.next() >> 16) % n).unwrap_or(0)
    }
}

/// Structure of the formats that are read.
pub const TOKENS: [&[u8]; 34] = [
    b"{",
    b"}",
    b"[",
    b"]",
    b",",
    b":",
    b"\"",
    b"\\",
    b"\\u",
    b"\0",
    b"\n",
    b"\xff\xfe",
    b"\xef\xbb\xbf",
    b"}{",
    b"],[",
    b"{\"ph\":\"X\",\"ts\":1,\"dur\":2,\"name\":\"x\",\"pid\":1,\"tid\":1},",
    b"{\"ph\":\"B\",\"ts\":1,\"pid\":1,\"tid\":1},",
    b"{\"ph\":\"E\",\"ts\":1,\"pid\":1,\"tid\":1},",
    b"\"traceEvents\":[",
    b"\"args\":{",
    b"\"correlation\":1,",
    b"null",
    b"NaN",
    b"Infinity",
    b"0x10",
    b"\n{\"id\":1,\"name\":\"read\",\"cat\":\"POSIX\",\"pid\":1,\"tid\":1,\"ts\":1,\"dur\":2,\"ph\":1,\"args\":{}}\n",
    b"\"ph\":4,",
    b"\"fhash\":",
    b"PK\x01\x02",
    b"PK\x05\x06",
    b"\x1f\x8b\x08",
    b"[[rule]]\n",
    b"\"\"\"",
    b"(a*)*",
];

const NUMBERS: [&[u8]; 12] = [
    b"0",
    b"-1",
    b"9223372036854775807",
    b"-9223372036854775808",
    b"9223372036854775808",
    b"18446744073709551615",
    b"2305843009213693951",
    b"1e308",
    b"1e-308",
    b"1.7976931348623157e309",
    b"0.00000000000000000000000001",
    b"99999999999999999999999999999999999999999999",
];

/// Changes `data` a few times; `other` is what is spliced in. Keeps it below `limit` bytes.
pub fn mutate(data: &mut Vec<u8>, other: &[u8], random: &mut Random, limit: usize) {
    for _ in 0..=random.below(4) {
        match random.below(9) {
            0 => flip(data, random),
            1 => {
                let at = random.below(data.len() + 1);
                data.truncate(at);
            }
            2 => {
                let (from, to) = range(data.len(), random);
                data.drain(from..to);
            }
            3 => {
                let (from, to) = range(data.len(), random);
                let part = data[from..to].to_vec();
                insert(data, &part, random);
            }
            4 => {
                let (from, to) = range(other.len(), random);
                insert(data, &other[from..to], random);
            }
            5 | 6 => insert(data, TOKENS[random.below(TOKENS.len())], random),
            7 => number(data, random),
            _ => byte(data, random),
        }
        data.truncate(limit);
    }
}

fn range(len: usize, random: &mut Random) -> (usize, usize) {
    let from = random.below(len + 1);
    let room = (len - from).min(1 << random.below(12));
    (from, from + random.below(room + 1))
}

fn flip(data: &mut [u8], random: &mut Random) {
    for _ in 0..=random.below(8) {
        let at = random.below(data.len());
        if let Some(byte) = data.get_mut(at) {
            *byte ^= 1 << random.below(8);
        }
    }
}

fn byte(data: &mut [u8], random: &mut Random) {
    let values = [0, 1, 0x7f, 0x80, 0xff, b' ', b'"'];
    let at = random.below(data.len());
    if let Some(byte) = data.get_mut(at) {
        *byte = values[random.below(values.len())];
    }
}

fn insert(data: &mut Vec<u8>, part: &[u8], random: &mut Random) {
    let at = random.below(data.len() + 1);
    data.splice(at..at, part.iter().copied());
}

/// Puts another number in the place of one.
fn number(data: &mut Vec<u8>, random: &mut Random) {
    let from = random.below(data.len() + 1);
    let Some(start) = data[from..].iter().position(u8::is_ascii_digit) else {
        return;
    };
    let start = from + start;
    let end = data[start..]
        .iter()
        .position(|b| !b.is_ascii_digit())
        .map_or(data.len(), |n| start + n);
    let new = NUMBERS[random.below(NUMBERS.len())];
    data.splice(start..end, new.iter().copied());
}
