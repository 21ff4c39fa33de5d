//! Span names in little room: what is code by its one short name, everything else without folders, place and arguments,
//! then without its middle. Works on counts of characters, since labels are set in a monospace font.

use std::borrow::Cow;

use crate::analysis::{
    LONGEST_NAME, name_head, short_name, without_arguments, without_return_type,
};

/// Labels start at this visible width, points.
pub const MIN_LABEL_WIDTH: f32 = 24.0;
/// Least number of characters of a name that is cut.
pub const MIN_CHARS: usize = 4;
/// Width of one character of [`super::Font::Label`], points.
pub const MONO_ADVANCE: f32 = 6.625;
/// Space left of a label, points.
pub const PADDING: f32 = 4.0;
/// Characters that fit into `width` points, padding on both sides taken off.
#[must_use]
pub fn capacity(width: f32) -> usize {
    ((width - 1.5 * PADDING) / MONO_ADVANCE).max(0.0) as usize
}

/// The best text of at most `room` characters for `name`: [`MIN_CHARS`] characters of it at least, or all; `None` where
/// neither fits. Code has one short name whatever the room is, cut behind its head, which tells kernels apart; of
/// everything else parts go step by step. A part is only left out where something else stays: names cut by a tracer have
/// brackets that never open or close.
#[must_use]
pub fn shorten(name: &str, room: usize) -> Option<Cow<'_, str>> {
    if name.is_empty() || room == 0 {
        return None;
    }
    let name = name_head(name, LONGEST_NAME);
    if let Some(short) = short_name(name) {
        if fits(&short, room) {
            return Some(short);
        }
        return (room >= MIN_CHARS).then(|| Cow::Owned(cut(&short, room)));
    }
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
    (room >= MIN_CHARS).then(|| Cow::Owned(elide(bare, room)))
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

fn fits(text: &str, room: usize) -> bool {
    text.len() <= room || text.chars().take(room + 1).count() <= room
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

/// Cuts the end off.
fn cut(text: &str, room: usize) -> String {
    let mut out: String = text.chars().take(room.saturating_sub(1)).collect();
    out.push('…');
    out
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
    fn the_same_op_has_one_label_that_keeps_its_head() {
        let at = |room| shorten(KERNEL, room).map(Cow::into_owned);
        for room in [400, 60, 29] {
            assert_eq!(at(room).as_deref(), Some("vectorized_elementwise_kernel"));
        }
        assert_eq!(at(10).as_deref(), Some("vectorize…"));
        assert_eq!(at(4).as_deref(), Some("vec…"));
        assert_eq!(at(3), None);
        let cutlass = "void cutlass::Kernel2<cutlass_80_wmma_tensorop_bf16_s161616gemm_bf16_16x16_128x2_tn_align8>(cutlass_80_wmma::Params)";
        assert_eq!(shorten(cutlass, 12).as_deref(), Some("cutlass_80_…"));
        for room in [6, 12, 40] {
            assert_eq!(shorten("aten::conv2d", room).as_deref(), Some("conv2d"));
        }
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
