//! The end of an object by matching braces outside strings: the hot loop over `args`.

/// Position behind the object that opens at `start`; `None` where it does not end in `w`.
pub(super) fn object_end(w: &[u8], start: usize) -> Option<usize> {
    object_end_scalar(w, start)
}

/// Byte by byte.
fn object_end_scalar(w: &[u8], start: usize) -> Option<usize> {
    let mut depth = 0_u32;
    let mut pos = start;
    loop {
        match w.get(pos)? {
            b'{' => depth += 1,
            b'}' => {
                depth -= 1;
                if depth == 0 {
                    return Some(pos + 1);
                }
            }
            b'"' => {
                pos += 1;
                loop {
                    match w.get(pos)? {
                        b'"' => break,
                        b'\\' => pos += 2,
                        _ => pos += 1,
                    }
                }
            }
            _ => {}
        }
        pos += 1;
    }
}
