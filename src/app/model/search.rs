//! Finding spans by name, lane, layer and duration, on a thread of its own; the newest query wins.

use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::mpsc::{Receiver, sync_channel};

use crate::analysis::Analysis;
use crate::model::SpanId;
use crate::time::parse_ns;
use crate::view::{Highlights, RowTree};

/// Spans looked at between two looks at the newest query.
const CHUNK: usize = 1 << 16;

/// A parsed query: all parts must hold.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Query {
    /// Part of the name, lower case.
    pub text: String,
    /// The whole name, as "find same name" asks for.
    pub exact: Option<String>,
    /// Part of the lane's name or key, lower case.
    pub lane: Option<String>,
    /// Part of the layer's name or title, lower case.
    pub layer: Option<String>,
    /// Longer than this, ns.
    pub longer: Option<i64>,
    /// Shorter than this, ns.
    pub shorter: Option<i64>,
    /// Parts that look like filters and cannot be read.
    pub bad: Vec<String>,
}

impl Query {
    /// Reads `conv lane:main layer:op dur>5ms`; `="whole name"` asks for exactly that name.
    #[must_use]
    pub fn parse(text: &str) -> Self {
        let mut query = Self::default();
        let trimmed = text.trim();
        if let Some(name) = trimmed
            .strip_prefix("=\"")
            .and_then(|t| t.strip_suffix('"'))
        {
            query.exact = Some(name.to_owned());
            return query;
        }
        let mut words = Vec::new();
        for word in trimmed.split_whitespace() {
            let lower = word.to_lowercase();
            if let Some(lane) = lower.strip_prefix("lane:") {
                query.lane = Some(lane.to_owned());
            } else if let Some(layer) = lower.strip_prefix("layer:") {
                query.layer = Some(layer.to_owned());
            } else if let Some(limit) = lower.strip_prefix("dur>") {
                query.longer = query.limit(limit, word);
            } else if let Some(limit) = lower.strip_prefix("dur<") {
                query.shorter = query.limit(limit, word);
            } else {
                words.push(lower);
            }
        }
        query.text = words.join(" ");
        query
    }

    fn limit(&mut self, limit: &str, word: &str) -> Option<i64> {
        let parsed = parse_ns(limit).ok();
        if parsed.is_none() {
            self.bad.push(word.to_owned());
        }
        parsed
    }

    /// True when nothing is asked for.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        let parts = [&self.lane, &self.layer, &self.exact];
        self.text.is_empty()
            && parts.iter().all(|p| p.is_none())
            && self.longer.is_none()
            && self.shorter.is_none()
    }

    /// The spans that match, by start; `None` when `stop` said so.
    fn find(&self, analysis: &Analysis, stop: impl Fn() -> bool) -> Option<Vec<SpanId>> {
        let trace = analysis.trace();
        let spans = trace.spans();
        let named: Vec<bool> = trace
            .names()
            .iter()
            .map(|(_, name)| match &self.exact {
                Some(exact) => name == exact,
                None => self.text.is_empty() || name.to_lowercase().contains(&self.text),
            })
            .collect();
        let has = |text: &str, part: &str| text.to_lowercase().contains(part);
        let layered: Vec<bool> = analysis
            .layers()
            .infos()
            .iter()
            .map(|l| {
                self.layer
                    .as_ref()
                    .is_none_or(|p| has(&l.name, p) || has(&l.title, p))
            })
            .collect();
        let mut found = Vec::new();
        for lane in trace.lane_ids() {
            let info = trace.lane(lane);
            let wanted = |p: &String| has(&info.name, p) || has(&info.key, p);
            if !self.lane.as_ref().is_none_or(wanted) {
                continue;
            }
            for (i, span) in trace.lane_spans(lane).enumerate() {
                if i % CHUNK == 0 && stop() {
                    return None;
                }
                let dur = spans.dur(span);
                if named[spans.name(span).index()]
                    && self.longer.is_none_or(|l| dur > l)
                    && self.shorter.is_none_or(|l| dur < l)
                    && layered[usize::from(analysis.layers().of(span).0)]
                {
                    found.push(span);
                }
            }
        }
        found.sort_by_key(|&s| (spans.start(s), s));
        Some(found)
    }
}

/// Number of the search, hits by start, hits for drawing.
type Found = (u64, Vec<SpanId>, Highlights);

/// The search box and what it found.
#[derive(Default)]
pub struct Search {
    /// What is typed.
    pub text: String,
    /// The query that the hits belong to.
    pub query: Query,
    /// Spans found, by start.
    pub hits: Arc<Vec<SpanId>>,
    /// The same, indexed for drawing.
    pub by_id: Arc<Highlights>,
    /// Index of the current hit.
    pub at: Option<usize>,
    newest: Arc<AtomicU64>,
    running: Option<Receiver<Found>>,
    started: u64,
}

impl Search {
    /// True while something is searched for.
    #[must_use]
    pub fn is_active(&self) -> bool {
        !self.query.is_empty()
    }

    /// True until the hits of the newest query are there.
    #[must_use]
    pub fn is_running(&self) -> bool {
        self.running.is_some()
    }

    /// Starts searching for `text`; `wake` is called when the hits are there.
    pub fn start(
        &mut self,
        text: String,
        analysis: &Arc<Analysis>,
        tree: &Arc<RowTree>,
        wake: impl Fn() + Send + 'static,
    ) {
        let query = Query::parse(&text);
        self.text = text;
        if query == self.query {
            return;
        }
        self.query = query.clone();
        self.at = None;
        self.started += 1;
        self.newest.store(self.started, Ordering::Relaxed);
        if query.is_empty() {
            self.running = None;
            self.hits = Arc::default();
            self.by_id = Arc::default();
            return;
        }
        let (send, receive) = sync_channel(1);
        let (newest, number) = (Arc::clone(&self.newest), self.started);
        let (analysis, tree) = (Arc::clone(analysis), Arc::clone(tree));
        let thread = std::thread::Builder::new().name("stallscope-search".to_owned());
        let spawned = thread.spawn(move || {
            let stale = || newest.load(Ordering::Relaxed) != number;
            if let Some(hits) = query.find(&analysis, stale) {
                let trace = analysis.trace();
                let groups = tree.groups().map(|(node, leaves)| (node.0, leaves));
                let by_id = Highlights::new(trace, &analysis, tree.lod(), hits.clone())
                    .with_groups(trace, &analysis, groups);
                // Nobody listens when another search began meanwhile.
                let _ = send.send((number, hits, by_id));
                wake();
            }
        });
        self.running = spawned.is_ok().then_some(receive);
    }

    /// Takes hits that are ready; true when there are new ones.
    pub fn poll(&mut self) -> bool {
        let Some(Ok((number, hits, by_id))) = self.running.as_ref().map(Receiver::try_recv) else {
            return false;
        };
        if number == self.started {
            self.hits = Arc::new(hits);
            self.by_id = Arc::new(by_id);
            self.running = None;
        }
        true
    }

    /// The next (or previous) hit; the first one at or after `from` when none is current.
    pub fn step(
        &mut self,
        forward: bool,
        from: i64,
        start_of: impl Fn(SpanId) -> i64,
    ) -> Option<SpanId> {
        let n = self.hits.len();
        if n == 0 {
            return None;
        }
        let at = match (self.at, forward) {
            (Some(i), true) => (i + 1) % n,
            (Some(i), false) => (i + n - 1) % n,
            (None, true) => self.hits.partition_point(|&s| start_of(s) < from) % n,
            (None, false) => (self.hits.partition_point(|&s| start_of(s) < from) + n - 1) % n,
        };
        self.at = Some(at);
        Some(self.hits[at])
    }

    /// `12 of 340`, `340 found`, `searching…`.
    #[must_use]
    pub fn status(&self) -> String {
        if let Some(bad) = self.query.bad.first() {
            return format!("`{bad}`: write a time, as in dur>5ms");
        }
        if !self.is_active() {
            return String::new();
        }
        if self.is_running() {
            return "searching…".to_owned();
        }
        let n = crate::time::format_count(self.hits.len() as u64);
        match self.at {
            Some(i) => format!("{} of {n}", crate::time::format_count(i as u64 + 1)),
            None => format!("{n} found"),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn queries_are_read() {
        let q = Query::parse("Conv2d fwd lane:Main LAYER:op dur>5ms dur<1s");
        assert_eq!(q.text, "conv2d fwd");
        assert_eq!(q.lane.as_deref(), Some("main"));
        assert_eq!(q.layer.as_deref(), Some("op"));
        assert_eq!(
            (q.longer, q.shorter),
            (Some(5_000_000), Some(1_000_000_000))
        );
        assert!(q.bad.is_empty() && !q.is_empty());
        assert!(Query::parse("  ").is_empty());
        assert_eq!(Query::parse("dur>soon").bad, ["dur>soon"]);
        let exact = Query::parse("=\"aten::add lane:x\"");
        assert_eq!(exact.exact.as_deref(), Some("aten::add lane:x"));
    }
}
