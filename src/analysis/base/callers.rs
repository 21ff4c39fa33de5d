//! Who called: of the spans around a span on its lane those that tell where in the program it is.
//!
//! ```text
//! range    ├──────────────────────── forward ────────────────────────┤    what the user named
//! module      ├──────────────── nn.Module: Encoder_0 ─────────────┤       with the stacks of PyTorch
//! Python         ├─────────── model.py(40): forward ────────────┤         not of PyTorch itself
//! op                ├── aten::item ──┤                                    the one that Python called
//!                     ├ aten::_local… ┤
//! call                   ├ sync ┤
//! ```

use crate::analysis::Analysis;
use crate::analysis::base::core::Core;
use crate::analysis::base::name_kinds::NameKind;
use crate::analysis::layers::ids::LayerId;
use crate::model::SpanId;

/// What a caller is.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum CallerKind {
    /// A range that the user or the framework named: NVTX, `record_function`, a phase of the loop.
    Range,
    /// A module of the model.
    Module,
    /// A Python function.
    Python,
    /// An operator.
    Op,
    /// The call itself.
    Call,
}

impl CallerKind {
    /// Its name in reports.
    #[must_use]
    pub fn key(self) -> &'static str {
        match self {
            Self::Range => "range",
            Self::Module => "module",
            Self::Python => "python",
            Self::Op => "op",
            Self::Call => "call",
        }
    }

    /// What a span is as a caller. Steps are none: each has a name of its own.
    pub(in crate::analysis) fn of(core: &Core, span: SpanId) -> Option<Self> {
        match core.layer(span) {
            LayerId::STEP => None,
            LayerId::PYTHON => {
                let name = core.trace.span_name(span);
                match name.starts_with(MODULE) {
                    true => Some(Self::Module),
                    false => is_own(name).then_some(Self::Python),
                }
            }
            LayerId::OP | LayerId::SYNCOP | LayerId::RECOMPUTE => Some(Self::Op),
            // What is part of backward is an operator all the same.
            _ if core.name_kind(span) == NameKind::Engine => Some(Self::Op),
            layer => layer.has_gpu_side().then_some(Self::Range),
        }
    }
}

/// How PyTorch names the span of a module's call.
pub(in crate::analysis) const MODULE: &str = "nn.Module: ";

/// Whether a Python function is of the program and not of PyTorch or built in. Names are those of PyTorch's stacks:
/// `train.py(12): main`, `<built-in method …>`.
pub(in crate::analysis) fn is_own(name: &str) -> bool {
    let path = name.split('(').next().unwrap_or(name);
    let mut parts = path.split(['/', '\\']);
    let installed = |part: &str| part == "site-packages" || part == "dist-packages";
    let first = match path.split(['/', '\\']).any(installed) {
        true => parts.by_ref().skip_while(|part| !installed(part)).nth(1),
        false => parts.next(),
    };
    !name.starts_with('<') && (first != Some("torch") || parts.next().is_none())
}

/// The callers of a span, as far as they are recorded.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Callers {
    /// The innermost named range.
    pub range: Option<SpanId>,
    /// The innermost module.
    pub module: Option<SpanId>,
    /// The innermost Python function that is not of PyTorch itself.
    pub python: Option<SpanId>,
    /// The operator that the innermost of those called, not one that an operator called.
    pub op: Option<SpanId>,
}

impl Callers {
    /// Those that are known, outermost kind first.
    pub fn known(&self) -> impl Iterator<Item = (CallerKind, SpanId)> {
        let all = [
            (CallerKind::Range, self.range),
            (CallerKind::Module, self.module),
            (CallerKind::Python, self.python),
            (CallerKind::Op, self.op),
        ];
        all.into_iter()
            .filter_map(|(kind, span)| Some((kind, span?)))
    }
}

impl Analysis {
    /// Who called a span, by what is around it on its lane.
    #[must_use]
    pub fn callers(&self, span: SpanId) -> Callers {
        let core = &self.core;
        let lane = core.trace.spans().lane(span);
        let columns = core.columns(lane);
        let me = core.range(span);
        let before = (span.0 - columns.first) as usize;
        let mut out = Callers::default();
        core.index(lane)
            .open_before(&columns, before, me.start, |i| {
                let id = columns.id(i);
                if columns.range(i).end < me.end {
                    return;
                }
                let kind = CallerKind::of(core, id);
                match kind {
                    Some(CallerKind::Range) => out.range = Some(id),
                    Some(CallerKind::Module) => out.module = Some(id),
                    Some(CallerKind::Python) => out.python = Some(id),
                    Some(CallerKind::Op) => out.op = out.op.or(Some(id)),
                    Some(CallerKind::Call) | None => {}
                }
                if kind.is_some_and(|k| k != CallerKind::Op) {
                    out.op = None;
                }
            });
        out
    }

    /// The same in words, innermost first: `aten::item in model.py(40): forward`. `None` where nothing is recorded.
    #[must_use]
    pub fn called_by(&self, span: SpanId) -> Option<String> {
        let mut names: Vec<&str> = self
            .callers(span)
            .known()
            .map(|(_, s)| self.trace().span_name(s))
            .collect();
        names.reverse();
        (!names.is_empty()).then(|| names.join(" in "))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn functions_of_the_program_are_told_from_those_of_pytorch() {
        for own in [
            "train.py(12): main",
            "/home/me/torch/train.py(3): f",
            "transformers/pipelines/base.py(1173): _ensure_tensor_on_device",
            "/usr/lib/python3/site-packages/transformers/x.py(1): g",
            "torch.py(1): mine",
        ] {
            assert!(is_own(own), "{own}");
        }
        for other in [
            "torch/nn/modules/module.py(1501): _call_impl",
            "/opt/lib/python3.7/site-packages/torch/autograd/profiler.py(614): __enter__",
            r"C:\py\site-packages\torch\cuda\__init__.py(9): synchronize",
            "<built-in method to of Tensor object at 0x7ce279c59e00>",
            "<string>(1): <module>",
        ] {
            assert!(!is_own(other), "{other}");
        }
    }
}
