//! Names of GPU kernels without what differs between builds and calls: arguments, deep template parameters, counters.

use std::borrow::Cow;

/// Levels of template parameters that stay: those below tell apart the types of one lambda and little else.
const KEPT: usize = 2;

/// What holds a bracket and is none.
const PLAIN: [&str; 6] = [
    "operator<<",
    "operator>>",
    "operator<",
    "operator>",
    "->",
    "(anon)",
];

/// The name of a kernel as it is compared between recordings: without `void`, arguments, template parameters of the third
/// level and deeper, and without the counter behind a Triton kernel. A name whose brackets do not match stays as it is.
#[must_use]
pub fn norm_kernel(name: &str) -> Cow<'_, str> {
    match normalised(name) {
        Some(short) if !short.is_empty() => Cow::Owned(short),
        _ => Cow::Borrowed(name),
    }
}

fn normalised(name: &str) -> Option<String> {
    let text = name.trim().replace("(anonymous namespace)", "(anon)");
    let mut rest = text.strip_prefix("void ").unwrap_or(&text);
    let mut out = String::with_capacity(rest.len());
    let mut level = 0_usize;
    while let Some(c) = rest.chars().next() {
        if let Some(word) = PLAIN.iter().find(|w| rest.starts_with(**w)) {
            if level <= KEPT {
                out.push_str(word);
            }
            rest = &rest[word.len()..];
            continue;
        }
        rest = &rest[c.len_utf8()..];
        match c {
            '(' if level == 0 => break,
            '(' => rest = behind_arguments(rest)?,
            '<' => {
                level += 1;
                if level <= KEPT {
                    out.push('<');
                }
            }
            '>' => {
                level = level.checked_sub(1)?;
                if level < KEPT {
                    out.push('>');
                }
            }
            c if level <= KEPT => out.push(c),
            _ => {}
        }
    }
    (level == 0).then(|| spaced(uncounted(&out)))
}

/// What follows the parenthesis that closes the one before `text`.
fn behind_arguments(text: &str) -> Option<&str> {
    let mut open = 1_usize;
    for (at, byte) in text.bytes().enumerate() {
        match byte {
            b'(' => open += 1,
            b')' => open -= 1,
            _ => {}
        }
        if open == 0 {
            return Some(&text[at + 1..]);
        }
    }
    None
}

/// Triton numbers the kernels of a program.
fn uncounted(name: &str) -> &str {
    if !name.starts_with("triton_") {
        return name;
    }
    let bare = name.trim_end_matches(|c: char| c.is_ascii_digit());
    match bare.strip_suffix('_') {
        Some(short) if bare.len() < name.len() => short,
        _ => name,
    }
}

/// One blank for a run of them, none before `,` and `>` and at the ends.
fn spaced(name: &str) -> String {
    let mut out = String::with_capacity(name.len());
    let mut blank = false;
    for c in name.trim().chars() {
        if c.is_whitespace() {
            blank = true;
            continue;
        }
        if blank && !matches!(c, ',' | '>') {
            out.push(' ');
        }
        blank = false;
        out.push(c);
    }
    out
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_lose_what_says_nothing() {
        let cases = [
            (
                "void at::native::vectorized_elementwise_kernel<4, at::native::BUnaryFunctor<float, float>, std::array<char*, 2ul> >(int, std::array<char*, 2ul>)",
                "at::native::vectorized_elementwise_kernel<4, at::native::BUnaryFunctor<float, float>, std::array<char*, 2ul>>",
            ),
            ("triton_poi_fused_add_3", "triton_poi_fused_add"),
            ("triton_poi_fused_7_", "triton_poi_fused_7_"),
            (
                "ncclDevKernel_AllReduce_Sum_f32_RING_LL(ncclDevKernelArgsStorage<4096ul>)",
                "ncclDevKernel_AllReduce_Sum_f32_RING_LL",
            ),
            ("a<b<c<d<e>>, f>>", "a<b<c, f>>"),
            (
                "void (anonymous namespace)::k<int (*)(int)>(x)",
                "(anon)::k<int>",
            ),
            ("f<operator<< , a->b>", "f<operator<<, a->b>"),
            // Brackets that do not match.
            ("void k<a", "void k<a"),
            ("k>", "k>"),
            ("k<(a>", "k<(a>"),
            // Nothing remains.
            ("(x)", "(x)"),
            ("", ""),
            ("ein  Käse ,x", "ein Käse,x"),
        ];
        for (name, short) in cases {
            assert_eq!(norm_kernel(name), short);
            let again = norm_kernel(name).into_owned();
            assert_eq!(norm_kernel(&again), again);
        }
    }
}
