//! What is found out, beside the UI thread, about the span whose links are drawn.

use std::sync::Arc;

use egui::Ui;

use crate::analysis::LayerClass;
use crate::app::model::chain;
use crate::app::model::document::Document;
use crate::app::model::facts::queued_by;
use crate::app::model::latest::{Job, Latest};
use crate::model::SpanId;
use crate::view::Links;

/// How long the pointer rests before a tooltip or links show, s.
pub const REST: f32 = 0.15;

/// The span in focus: where the pointer rests, else the selected one.
#[derive(Default)]
pub struct Focus {
    span: Option<SpanId>,
    /// By span, and whether the causes of waits are known: the chain below a wait follows from them.
    links: Latest<(SpanId, bool), Links>,
    causes_known: bool,
    /// Whose work a synchronising call waits for.
    queued: Latest<SpanId, String>,
}

impl Focus {
    /// The work beside the UI thread.
    pub fn jobs(&mut self) -> [&mut dyn Job; 2] {
        [&mut self.links, &mut self.queued]
    }

    /// Finds out which span is in focus now, and asks for what is to be known of it.
    pub fn update(&mut self, ui: &Ui, doc: &Document) {
        let rested = ui.input(|i| i.pointer.time_since_last_movement());
        let hovered = doc.pointer.span;
        if hovered.is_some() && hovered != self.span && rested < REST {
            // Arrows must not flicker while the pointer passes.
            let left = std::time::Duration::from_secs_f32(REST - rested + 0.01);
            ui.ctx().request_repaint_after(left);
            self.span = chain::focused(doc);
        } else {
            self.span = hovered.or(chain::focused(doc));
        }
        let Some(span) = self.span else {
            return;
        };
        let (trace, analysis) = (doc.trace.clone(), doc.analysis.clone());
        let wake = ui.ctx().clone();
        self.causes_known = analysis.causes_known();
        self.links.request(
            (span, self.causes_known),
            move || Links::of(&trace, &analysis, span),
            move || wake.request_repaint(),
        );
        let on_cpu = !doc.trace.lane(doc.trace.spans().lane(span)).kind.is_gpu();
        if on_cpu && doc.analysis.layers().class_of(span) == LayerClass::Sync {
            let (analysis, wake) = (doc.analysis.clone(), ui.ctx().clone());
            self.queued.request(
                span,
                move || queued_by(&analysis, &analysis.sync(span)),
                move || wake.request_repaint(),
            );
        }
    }

    /// The links to draw.
    #[must_use]
    pub fn links(&self) -> Option<&Links> {
        self.links_of(self.span?)
    }

    /// The links of a span, if they are known.
    #[must_use]
    pub fn links_of(&self, span: SpanId) -> Option<&Links> {
        self.links.get(&(span, self.causes_known)).map(Arc::as_ref)
    }

    /// Whose work a synchronising call waits for, in words, if that is known.
    #[must_use]
    pub fn queued_by(&self, span: SpanId) -> Option<String> {
        self.queued.get(&span).map(|text| text.to_string())
    }
}
