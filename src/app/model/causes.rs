//! The causes of waits, worked out beside the UI thread once the timeline shows: args of all that workers did are read for
//! them. Given up when the trace is closed.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use super::latest::{Job, Latest};
use crate::analysis::{Analysis, Found, GoOn};
use crate::import::SharedArgs;
use crate::model::SpanId;

/// The work.
#[derive(Default)]
pub struct Causes {
    job: Latest<(), Option<Arc<Analysis>>>,
    stop: Arc<AtomicBool>,
}

impl Causes {
    /// The analysis with causes, once they are there and new. Begins to work them out where nobody did; `wake` is called
    /// when they are there.
    pub fn poll(
        &mut self,
        analysis: &Arc<Analysis>,
        args: &Arc<SharedArgs>,
        wake: impl FnOnce() + Send + 'static,
    ) -> Option<Arc<Analysis>> {
        if analysis.causes_known() {
            return None;
        }
        let (analysis, args) = (Arc::clone(analysis), Arc::clone(args));
        let stop = Arc::clone(&self.stop);
        let make = move || {
            let each = |spans: &[SpanId], go_on: &GoOn<'_>, found: &mut Found<'_>| {
                args.each(spans, go_on, found);
            };
            let go_on = |_thousandths: u32| !stop.load(Ordering::Relaxed);
            analysis.with_causes(&each, &go_on).ok().map(Arc::new)
        };
        self.job.request((), make, wake);
        self.job.poll();
        self.job.get(&())?.as_ref().clone()
    }

    /// Whether they are being worked out.
    #[must_use]
    pub fn is_running(&self) -> bool {
        self.job.is_busy()
    }
}

impl Drop for Causes {
    fn drop(&mut self) {
        self.stop.store(true, Ordering::Relaxed);
    }
}
