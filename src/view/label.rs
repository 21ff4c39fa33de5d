//! Span names in little room: return type, arguments, template arguments and leading namespaces go first, then the
//! middle. Works on counts of characters, since labels are set in a monospace font.

use std::borrow::Cow;

/// Labels start at this visible width, points.
pub const MIN_LABEL_WIDTH: f32 = 24.0;
/// Least number of characters of a name that is cut.
pub const MIN_CHARS: usize = 4;
/// Width of one character of [`super::Font::Label`], points.
pub const MONO_ADVANCE: f32 = 6.625;
/// Space left of a label, points.
pub const PADDING: f32 = 4.0;
/// Longest name that is looked at; kernel names of templates reach tens of kilobytes.
const LONGEST: usize = 4_096;

/// Characters that fit into `width` points, padding on both sides taken off.
#[must_use]
pub fn capacity(width: f32) -> usize {
    ((width - 1.5 * PADDING) / MONO_ADVANCE).max(0.0) as usize
}

/// The best text of at most `room` characters for `name`: the whole name or at least [`MIN_CHARS`] characters of it;
/// `None` where neither fits. A part is only left out where something else stays: names cut by a tracer have brackets
/// that never open or close, and may be nothing but arguments of a template.
#[must_use]
pub fn shorten(name: &str, room: usize) -> Option<Cow<'_, str>> {
    if name.is_empty() || room == 0 {
        return None;
    }
    let name = head(name, LONGEST);
    if fits(name, room) {
        return Some(Cow::Borrowed(name));
    }
    let near = without_folders(name);
    if fits(near, room) {
        return Some(Cow::Borrowed(near));
    }
    let own = unless_blank(without_place(near), near);
    if fits(own, room) {
        return Some(Cow::Borrowed(own));
    }
    let bare = unless_blank(without_arguments(without_return_type(own)), own);
    if fits(bare, room) {
        return Some(Cow::Borrowed(bare));
    }
    let plain = match without_templates(bare) {
        plain if is_blank(&plain) => Cow::Borrowed(bare),
        plain => plain,
    };
    if fits(&plain, room) {
        return Some(plain);
    }
    let mut rest: &str = &plain;
    while let Some((_, inner)) = rest.split_once("::") {
        if is_blank(inner) {
            break;
        }
        rest = inner;
        if fits(rest, room) {
            return Some(Cow::Owned(rest.to_owned()));
        }
    }
    (room >= MIN_CHARS).then(|| Cow::Owned(elide(rest, room)))
}

/// `name` and, where both fit, its duration; else what [`shorten`] gives.
#[must_use]
pub fn with_duration(name: &str, duration: &str, room: usize) -> Option<String> {
    let text = shorten(name, room)?;
    let used = text.chars().count() + 1 + duration.chars().count();
    // The duration is worth less than the name: it never costs a character of it.
    if used <= room && !text.contains('…') {
        return Some(format!("{text} {duration}"));
    }
    Some(text.into_owned())
}

fn is_blank(text: &str) -> bool {
    text.chars().all(char::is_whitespace)
}

fn unless_blank<'a>(short: &'a str, long: &'a str) -> &'a str {
    if is_blank(short) { long } else { short }
}

fn head(text: &str, bytes: usize) -> &str {
    let mut end = bytes.min(text.len());
    while !text.is_char_boundary(end) {
        end -= 1;
    }
    &text[..end]
}

fn fits(text: &str, room: usize) -> bool {
    text.len() <= room || text.chars().take(room + 1).count() <= room
}

/// `void at::native::f<int>(float*)` → `at::native::f<int>(float*)`: what precedes the last space outside brackets
/// and before the arguments, if it can be a type.
fn without_return_type(name: &str) -> &str {
    let mut depth = 0_i32;
    let mut cut = 0;
    let mut arguments = None;
    for (i, c) in name.char_indices() {
        match c {
            '<' => depth += 1,
            '>' => depth -= 1,
            '(' if depth == 0 && !name[i..].starts_with("(anonymous") => {
                arguments = Some(i);
                break;
            }
            '(' | '[' => depth += 1,
            ')' | ']' => depth -= 1,
            ' ' if depth == 0 => cut = i + 1,
            _ => {}
        }
    }
    let is_type = |t: &str| {
        t.split_whitespace()
            .all(|w| w.starts_with(|c: char| c.is_alphabetic() || c == '_'))
    };
    // Without arguments it is not a function: "Optimizer.step#SGD.step" and "Memcpy HtoD" keep all their words.
    match arguments {
        Some(at) if 0 < cut && cut < at && is_type(&name[..cut]) => &name[cut..],
        _ => name,
    }
}

/// `f(int, float)` → `f`, where the arguments are the end of the name: "enumerate(DataLoader)#x" has none.
fn without_arguments(name: &str) -> &str {
    let mut depth = 0_i32;
    for (i, c) in name.char_indices() {
        match c {
            '<' => depth += 1,
            '>' => depth -= 1,
            '(' if depth == 0 && i > 0 && !name[i..].starts_with("(anonymous") => {
                let rest = name[i..].trim_end();
                let ends = rest.ends_with(')') || rest.ends_with("const") || rest.ends_with(']');
                return if ends { name[..i].trim_end() } else { name };
            }
            _ => {}
        }
    }
    name
}

/// What something is called without where or what kind it is: "torch/nn/module.py(1743): forward" → "forward",
/// "nn.Module: Encoder_0" → "Encoder_0", "<built-in method run_backward of …>" → "run_backward".
fn without_place(name: &str) -> &str {
    if let Some(rest) = name.strip_prefix("<built-in ") {
        let rest = rest
            .strip_prefix("method ")
            .or_else(|| rest.strip_prefix("function "))
            .unwrap_or(rest);
        let rest = rest.split(" of ").next().unwrap_or(rest);
        return rest.trim_end_matches('>');
    }
    match name.rsplit_once(": ") {
        Some((_, own)) if !own.is_empty() => own,
        _ => name,
    }
}

/// "torch/nn/module.py(1743): forward" → "module.py(1743): forward".
fn without_folders(name: &str) -> &str {
    let end = name.find(".py(").unwrap_or(0);
    match name[..end].rfind('/') {
        Some(i) => &name[i + 1..],
        None => name,
    }
}

fn without_templates(name: &str) -> Cow<'_, str> {
    // "<built-in method …>" and operators are not templates.
    if !name.contains('<') || name.starts_with('<') || name.contains("operator") {
        return Cow::Borrowed(name);
    }
    let mut out = String::with_capacity(name.len());
    let mut depth = 0_u32;
    for c in name.chars() {
        match c {
            '<' => depth += 1,
            '>' => depth = depth.saturating_sub(1),
            c if depth == 0 => out.push(c),
            _ => {}
        }
    }
    Cow::Owned(out)
}

/// Cuts the middle out, two thirds of the rest from the head.
fn elide(text: &str, room: usize) -> String {
    let n = text.chars().count();
    let keep = room.saturating_sub(1);
    let head = keep.div_ceil(3) * 2;
    let head = head.min(keep);
    let tail = keep - head;
    let mut out: String = text.chars().take(head).collect();
    out.push('…');
    out.extend(text.chars().skip(n - tail.min(n)));
    out
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    const KERNEL: &str = "void at::native::vectorized_elementwise_kernel<4, at::native::FillFunctor<float>, std::array<char*, 1ul>>(int, at::native::FillFunctor<float>)";

    #[test]
    fn names_lose_the_least_telling_parts_first() {
        let at = |room| shorten(KERNEL, room).map(Cow::into_owned);
        assert_eq!(at(400).as_deref(), Some(KERNEL));
        assert_eq!(
            at(110).as_deref(),
            Some(
                "at::native::vectorized_elementwise_kernel<4, at::native::FillFunctor<float>, std::array<char*, 1ul>>"
            )
        );
        assert_eq!(
            at(60).as_deref(),
            Some("at::native::vectorized_elementwise_kernel")
        );
        assert_eq!(
            at(38).as_deref(),
            Some("native::vectorized_elementwise_kernel")
        );
        assert_eq!(at(30).as_deref(), Some("vectorized_elementwise_kernel"));
        assert_eq!(at(10).as_deref(), Some("vector…nel"));
        assert_eq!(at(4).as_deref(), Some("ve…l"));
        assert_eq!(at(3), None);
    }

    #[test]
    fn what_is_no_function_keeps_its_words() {
        assert_eq!(
            shorten("Memcpy HtoD (Pageable -> Device)", 20).as_deref(),
            Some("Memcpy HtoD")
        );
        assert_eq!(
            shorten("Optimizer.step#SGD.step", 23).as_deref(),
            Some("Optimizer.step#SGD.step")
        );
        assert_eq!(shorten("aten::conv2d", 8).as_deref(), Some("conv2d"));
        assert_eq!(
            shorten(
                "void (anonymous namespace)::softmax_warp<float>(float*)",
                33
            )
            .as_deref(),
            Some("softmax_warp")
        );
        assert_eq!(shorten("ab", 2).as_deref(), Some("ab"));
        assert_eq!(shorten("", 9), None);
    }

    #[test]
    fn python_frames_keep_their_function() {
        let name = "torch/utils/data/dataloader.py(628): __next__";
        let at = |room| shorten(name, room).map(Cow::into_owned);
        assert_eq!(at(45).as_deref(), Some(name));
        assert_eq!(at(30).as_deref(), Some("dataloader.py(628): __next__"));
        assert_eq!(at(12).as_deref(), Some("__next__"));
        let built_in = "<built-in method run_backward of torch._C._EngineBase object at 0x7fc9>";
        assert_eq!(shorten(built_in, 20).as_deref(), Some("run_backward"));
        assert_eq!(
            shorten("<built-in function next>", 5).as_deref(),
            Some("next")
        );
        assert_eq!(
            shorten("nn.Module: Encoder_0", 10).as_deref(),
            Some("Encoder_0")
        );
        assert_eq!(
            shorten("autograd::engine::evaluate_function: AddBackward0", 20).as_deref(),
            Some("AddBackward0")
        );
        assert_eq!(
            shorten(
                "enumerate(DataLoader)#_SingleProcessDataLoaderIter.__next__",
                20
            )
            .as_deref(),
            Some("enumerate(Data…ext__")
        );
    }

    #[test]
    fn brackets_that_never_open_or_close_do_not_take_the_whole_name() {
        assert_eq!(
            shorten("><float, 4>::apply<int", 5).as_deref(),
            Some("apply")
        );
        assert_eq!(shorten("><float, 4, true", 6).as_deref(), Some("><fl…e"));
        assert_eq!(
            shorten("><float, 4, true", 1),
            None,
            "it was an empty label"
        );
        assert_eq!(shorten("<built-in >>>", 8).as_deref(), Some("<built…>"));
        assert_eq!(shorten("  (float, int)", 5).as_deref(), Some("  (f…"));
    }

    #[test]
    fn a_duration_never_costs_a_character_of_the_name() {
        assert_eq!(
            with_duration("item", "54 ms", 10).as_deref(),
            Some("item 54 ms")
        );
        assert_eq!(with_duration("item", "54 ms", 9).as_deref(), Some("item"));
        assert!(
            !with_duration("a_long_name", "5 ms", 9)
                .unwrap()
                .contains("ms")
        );
    }

    proptest! {
        #[test]
        fn a_label_fits_and_is_never_short(name in "\\PC{0,60}", room in 0_usize..40) {
            if let Some(text) = shorten(&name, room) {
                let n = text.chars().count();
                prop_assert!(n <= room && n > 0);
                prop_assert!(!is_blank(&text) || is_blank(&name));
                if text.contains('…') && !name.contains('…') {
                    prop_assert!(n >= MIN_CHARS);
                }
            }
        }
    }
}
