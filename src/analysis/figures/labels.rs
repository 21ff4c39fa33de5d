//! What threads and streams are called in sentences and text tables, instead of their ids.

use crate::analysis::Analysis;
use crate::model::{LaneId, StreamId};

impl Analysis {
    /// A thread: `main thread (5000)`, `thread 5012`, `pt_autograd_0 (5012)`; where the trace has several processes, one
    /// that is not named by its number too: `thread 5012 of process 5000`.
    #[must_use]
    pub fn thread_label(&self, lane: LaneId) -> String {
        let trace = self.trace();
        let info = trace.lane(lane);
        let Some(thread) = info.thread.as_deref() else {
            return info.name.clone();
        };
        let pid = info.process.map(|p| trace.process(p).pid.as_str());
        let is_first = pid == Some(thread);
        if is_first {
            return format!("main thread ({thread})");
        }
        let process = match pid {
            Some(pid) if trace.processes().len() > 1 => format!(" of process {pid}"),
            _ => String::new(),
        };
        // Many recorders name a thread by its number, or not at all; some put the name behind the number.
        let name = info.name.as_str();
        let behind = name.strip_prefix("thread ").unwrap_or(name);
        let behind = behind.strip_prefix(thread).map(str::trim);
        match behind {
            Some("") => format!("thread {thread}{process}"),
            _ if name == info.key => format!("thread {thread}{process}"),
            Some(own) if own.starts_with('(') && own.ends_with(')') => {
                format!("{} ({thread}){process}", &own[1..own.len() - 1])
            }
            _ => format!("{name} ({thread}){process}"),
        }
    }

    /// A stream: `stream 7`, with what tells it from others of its number: `stream 7 of GPU 1, process 5000, context 2`.
    #[must_use]
    pub fn stream_label(&self, id: StreamId) -> String {
        let trace = self.trace();
        let s = trace.stream(id);
        let streams = || trace.streams().iter();
        let mut out = format!("stream {}", s.number);
        if trace.devices().len() > 1 {
            out.push_str(&format!(" of GPU {}", trace.device(s.device).index));
        }
        if let Some(process) = s.process
            && streams().any(|o| o.process != s.process)
        {
            out.push_str(&format!(", process {}", trace.process(process).pid));
        }
        let twin = |o: &crate::model::Stream| {
            (o.number, o.device, o.process) == (s.number, s.device, s.process)
                && o.context != s.context
        };
        if let Some(context) = s.context
            && streams().any(twin)
        {
            out.push_str(&format!(", context {context}"));
        }
        out
    }
}
