//! What a function, kernel or op is called in little room: its name without return type, arguments, template parameters
//! and namespaces. One name, so that the same op is called the same in every picture, tooltip and sentence.

use std::borrow::Cow;

/// Longest name that is looked at, bytes; kernel names of templates reach tens of kilobytes.
pub const LONGEST_NAME: usize = 4_096;

/// Functions that only carry another one: `cutlass::Kernel2<cutlass_80_…>` is known by what it carries.
const CARRIERS: [&str; 5] = [
    "Kernel",
    "Kernel2",
    "kernel",
    "device_kernel",
    "kernel_entry",
];

/// What code is called; `None` for what is no code: ranges, copies, Python frames, names of calls without a namespace.
#[must_use]
pub fn short_name(name: &str) -> Option<Cow<'_, str>> {
    let name = name_head(name, LONGEST_NAME);
    if name.starts_with('<') || !(name.contains("::") || name.contains('<')) {
        return None;
    }
    let own = match name.rsplit_once(": ") {
        Some((_, own)) if !own.is_empty() => own,
        _ => name,
    };
    let bare = without_arguments(without_return_type(own));
    let bare = carried(bare).unwrap_or(bare);
    let last = match without_templates(bare)? {
        Cow::Borrowed(plain) => Cow::Borrowed(last_part(plain)),
        Cow::Owned(plain) => Cow::Owned(last_part(&plain).to_owned()),
    };
    let is_name = last.contains(char::is_alphanumeric) && !last.contains(char::is_whitespace);
    is_name.then_some(last)
}

/// What a carrier carries: its first template parameter, where that is a name.
fn carried(bare: &str) -> Option<&str> {
    let (own, parameters) = bare.split_once('<')?;
    let own = own.rsplit("::").next()?;
    if !CARRIERS.contains(&own) {
        return None;
    }
    let mut depth = 0_u32;
    let end = parameters.find(|c| {
        let ends = depth == 0 && matches!(c, ',' | '>');
        match c {
            '<' => depth += 1,
            '>' => depth = depth.saturating_sub(1),
            _ => {}
        }
        ends
    });
    let first = parameters[..end.unwrap_or(parameters.len())].trim();
    let is_name = first.starts_with(|c: char| c.is_alphabetic() || c == '_');
    let own = first.split('<').next().unwrap_or(first);
    (is_name && !own.contains(' ')).then_some(first)
}

/// What stands behind the last `::`; of an operator with what it is of.
fn last_part(plain: &str) -> &str {
    let mut parts = plain.rmatch_indices("::").map(|(at, _)| &plain[at + 2..]);
    match parts.next() {
        None => plain,
        Some(last) if last.starts_with("operator") || last.is_empty() => {
            parts.next().unwrap_or(plain)
        }
        Some(last) => last,
    }
}

/// The first bytes of a text, whole characters.
#[must_use]
pub fn name_head(text: &str, bytes: usize) -> &str {
    let mut end = bytes.min(text.len());
    while !text.is_char_boundary(end) {
        end -= 1;
    }
    &text[..end]
}

/// `void at::native::f<int>(float*)` → `at::native::f<int>(float*)`: what precedes the last space outside brackets
/// and before the arguments, if it can be a type.
#[must_use]
pub fn without_return_type(name: &str) -> &str {
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
#[must_use]
pub fn without_arguments(name: &str) -> &str {
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

/// A name without template parameters, up to the word `operator`: what it is of stands before it. `None` where nothing but a
/// bracket speaks for code and that has no other half, as in `lr<1e-4`, unless the name is so long that its end was left out.
fn without_templates(name: &str) -> Option<Cow<'_, str>> {
    /// What an operator's name begins with, between names.
    const OPERATOR: &str = "operator";
    if !name.contains(['<', '>']) && !name.contains(OPERATOR) {
        return Some(Cow::Borrowed(name));
    }
    let is_word = |c: char| c.is_alphanumeric() || c == '_';
    let mut out = String::with_capacity(name.len());
    let (mut depth, mut paired) = (0_u32, true);
    for (i, c) in name.char_indices() {
        match c {
            '<' => depth += 1,
            // An arrow: `f<operator->>`, `h2d->d2h`.
            '>' if name[..i].ends_with('-') => {
                if depth == 0 {
                    out.push(c);
                }
            }
            '>' if depth == 0 => {
                paired = false;
                out.push(c);
            }
            '>' => depth -= 1,
            _ if depth > 0 => {}
            c => {
                let rest = name[i..].strip_prefix(OPERATOR);
                let whole = rest.is_some_and(|r| !r.starts_with(is_word));
                if whole && !out.ends_with(is_word) {
                    out.push_str(OPERATOR);
                    return Some(Cow::Owned(out));
                }
                out.push(c);
            }
        }
    }
    let is_code = paired && depth == 0 || name.contains("::") || name.len() >= LONGEST_NAME / 2;
    is_code.then_some(Cow::Owned(out))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn code_is_called_by_what_tells_it_apart() {
        let of = |name| short_name(name).map(Cow::into_owned);
        for (name, short) in [
            ("aten::conv2d", "conv2d"),
            (
                "autograd::engine::evaluate_function: AddBackward0",
                "AddBackward0",
            ),
            (
                "void at::native::vectorized_elementwise_kernel<4, at::native::FillFunctor<float>, std::array<char*, 1ul>>(int, at::native::FillFunctor<float>)",
                "vectorized_elementwise_kernel",
            ),
            (
                "void cutlass::Kernel2<cutlass_80_tensorop_bf16_s16816gemm_bf16_128x64_tn_align8>(cutlass_80_tensorop_bf16_s16816gemm_bf16_128x64_tn_align8::Params)",
                "cutlass_80_tensorop_bf16_s16816gemm_bf16_128x64_tn_align8",
            ),
            (
                "void cutlass::device_kernel<cutlass::gemm::kernel::GemmUniversal<int, float>>(int)",
                "GemmUniversal",
            ),
            (
                "void (anonymous namespace)::softmax_warp<float>(float*)",
                "softmax_warp",
            ),
            ("void f::Sum::operator()(int)", "Sum::operator"),
            ("void f::Sum<int>::operator()<4>(int)", "Sum::operator"),
            ("stage::h2d->d2h", "h2d->d2h"),
            ("check::x>0", "x>0"),
            (
                "void at::native::vectorized_elementwise_kernel<4, at::native::log_kernel_cuda(at::TensorIteratorBase&)::{lambda()#2}::operator()() const::{lambda(float)#1}, at::detail::Array<char*, 2> >(int, at::native::log_kernel_cuda(at::TensorIteratorBase&)::{lambda()#2}::operator()() const::{lambda(float)#1}, at::detail::Array<char*, 2>)",
                "vectorized_elementwise_kernel",
            ),
            (
                "void my::apply_operator_kernel<at::native::AddFunctor>(int)",
                "apply_operator_kernel",
            ),
            (
                "std::enable_if<!(false), void>::type internal::gemv_kernel<int>(int)",
                "gemv_kernel",
            ),
        ] {
            assert_eq!(of(name).as_deref(), Some(short), "{name}");
        }
        for name in [
            "Memcpy HtoD (Pageable -> Device)",
            "ProfilerStep#5",
            "cudaLaunchKernel",
            "torch/nn/module.py(1743): forward",
            "<built-in method run_backward of torch._C._EngineBase object at 0x7fc9>",
            "epoch 1::batch 3 of 7",
            "><float, 4, true",
            "lr<1e-4",
            "",
            "::",
        ] {
            assert_eq!(of(name), None, "{name}");
        }
    }
}
