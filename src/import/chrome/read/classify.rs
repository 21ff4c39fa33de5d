//! From an event as written to the columns of a chunk: which lane, which kind of row.

use super::args::{self, number_in};
use super::category::Class;
use super::chunk::{
    Extra, FlowEvent, Id, InstantEvent, LaneClass, LaneKey, MarkEvent, MemoryEvent, MetaEvent,
    MetaKind, NONE, SampleEvent, SpanEvent,
};
use super::event::{Event, IdScope};
use super::parser::{Parser, Scalar, Time};
use super::scan::Fail;
use crate::import::chrome::tally::Odd;
use crate::import::text::decimal;
use crate::model::ArgsRef;

/// The lane number that stands for "no stream".
const UNKNOWN_NUMBER: i64 = -1;

impl<'w> Parser<'w, '_> {
    /// Adds an event that opens at `start`.
    pub fn push(&mut self, start: usize, event: &Event<'w>) {
        self.chunk.events += 1;
        let offset = self.at + start as u64;
        let &[phase] = event.ph else {
            let odd = match (event.ph.is_empty(), event.keys) {
                (true, 0) => Odd::Empty,
                (true, _) => Odd::NoPhase,
                (false, _) => Odd::UnknownPhase,
            };
            self.chunk.tally.add(odd, offset);
            return;
        };
        if let Some(count) = self.chunk.phases.0.get_mut(usize::from(phase)) {
            *count += 1;
        }
        if event.bind {
            self.chunk.tally.add(Odd::BindId, offset);
        }
        match phase {
            b'M' => return self.meta(event),
            b'P' | b'N' | b'O' | b'D' | b'(' | b')' | b'v' | b'V' | b'c' | b'=' => {
                return self.chunk.tally.add(Odd::NotDrawn, offset);
            }
            b'X' | b'B' | b'E' | b'b' | b'e' | b'n' | b'S' | b'T' | b'p' | b'F' | b'i' | b'I'
            | b'R' | b'C' | b's' | b't' | b'f' => {}
            _ => return self.chunk.tally.add(Odd::UnknownPhase, offset),
        }
        let ts = match event.ts {
            Time::Ns(ts) => ts,
            Time::Far => return self.chunk.tally.add(Odd::FarTime, offset),
            Time::Bad | Time::Missing => return self.chunk.tally.add(Odd::Ts, offset),
        };
        match phase {
            b'X' => self.complete(event, ts, offset),
            b'B' | b'E' => {
                let lane = self.thread(LaneClass::Cpu, event);
                self.mark(event, ts, offset, lane, phase == b'B');
            }
            b'i' | b'I' | b'R' if self.memory(event, ts, offset) => {}
            b'i' | b'I' | b'R' => {
                let lane = if event.scope == b'g' {
                    NONE
                } else {
                    self.thread(LaneClass::Cpu, event)
                };
                self.instant(event, ts, offset, lane);
            }
            b'C' => self.counter(event, ts, offset),
            b's' | b'f' => self.flow(event, ts, phase == b's'),
            b't' => {}
            _ => self.asynchronous(event, ts, offset, phase),
        }
    }

    fn complete(&mut self, event: &Event<'w>, ts: i64, offset: u64) {
        let dur = match event.dur {
            Time::Ns(dur) => dur,
            Time::Far => return self.chunk.tally.add(Odd::FarTime, offset),
            Time::Bad => return self.chunk.tally.add(Odd::Dur, offset),
            Time::Missing => return self.chunk.tally.add(Odd::NoDur, offset),
        };
        let class = self.chunk.cats.class(event.cat);
        if dur < 0 {
            // Work of which nobody knows when it ended is lost, not short.
            if class.is_operation() {
                return self.chunk.tally.add(Odd::NegativeOp, offset);
            }
            self.chunk.tally.add(Odd::NegativeDur, offset);
        }
        let (lane, extra) = if class.needs_args() {
            self.gpu_or_api(event, class)
        } else {
            let lane_class = match class {
                Class::Recorder => LaneClass::Recorder,
                Class::Overhead => LaneClass::Overhead,
                _ => LaneClass::Cpu,
            };
            (self.thread(lane_class, event), NONE)
        };
        let name = self.name(event);
        self.note_start(ts, offset);
        self.chunk.spans.push(SpanEvent {
            ts,
            dur: dur.max(0),
            args: self.args_ref(event),
            name,
            lane,
            cat: event.cat,
            extra,
        });
    }

    #[inline]
    fn note_start(&mut self, ts: i64, offset: u64) {
        if ts == 0 {
            self.chunk.zero_spans.push(offset);
        } else {
            self.chunk.note_start(ts, offset);
        }
    }

    fn gpu_or_api(&mut self, event: &Event<'w>, class: Class) -> (u32, u32) {
        let raw = match (event.extra, event.args) {
            (Some((read_for, raw)), _) if read_for.needs_args() => raw,
            // The category stood behind the args.
            (_, Some((pos, _))) if self.w[pos] == b'{' => {
                let mut raw = args::RawExtra::default();
                // They were skipped by braces only; what cannot be read of them is unknown.
                let _: Result<usize, Fail> = args::read(self, class, pos, &mut raw);
                raw
            }
            _ => args::RawExtra::default(),
        };
        let mut extra = raw.extra;
        if class == Class::Memcpy
            && let Some((start, end)) = event.name
        {
            extra.copy = args::direction(&self.w[start..end]).or(extra.copy);
        }
        if class.is_operation() && raw.device.is_some() && number_in(event.pid) != raw.device {
            extra.process = self.id(event.pid);
        }
        let lane = if class.is_gpu() {
            let stream = raw.stream.or_else(|| number_in(event.tid));
            // Where a kernel does not say its GPU, its pid is no GPU for sure; that of MTIA is.
            let by_pid = || number_in(event.pid).filter(|_| class == Class::Mtia);
            let device = raw.device.or_else(by_pid);
            let scope = self.id(event.pid);
            self.chunk.lanes.intern(LaneKey {
                class: match class {
                    Class::GpuAnnotation => LaneClass::GpuAnnotation,
                    Class::GpuSync => LaneClass::GpuSync,
                    Class::Mtia => LaneClass::Mtia,
                    _ => LaneClass::Gpu,
                },
                a: device.map_or(Id::Missing, Id::Int),
                b: Id::Int(stream.unwrap_or(UNKNOWN_NUMBER)),
                scope,
                document: 0,
            })
        } else {
            self.thread(LaneClass::Cpu, event)
        };
        (lane, self.extra(extra))
    }

    fn extra(&mut self, extra: Extra) -> u32 {
        let id = u32::try_from(self.chunk.extras.len()).unwrap_or(NONE);
        self.chunk.extras.push(extra);
        id
    }

    fn thread(&mut self, class: LaneClass, event: &Event<'w>) -> u32 {
        let (a, b) = (self.id(event.pid), self.id(event.tid));
        self.chunk.lanes.intern(LaneKey {
            class,
            a,
            b,
            scope: Id::Missing,
            document: 0,
        })
    }

    /// An id that is equal by value.
    fn id(&mut self, scalar: Scalar<'w>) -> Id {
        match scalar {
            Scalar::Missing => Id::Missing,
            Scalar::Int(i) => Id::Int(i),
            Scalar::Text(text) => {
                let start = text.as_ptr() as usize - self.w.as_ptr() as usize;
                Id::Text(self.chunk.texts.intern(self.w, start, start + text.len()))
            }
        }
    }

    fn name(&mut self, event: &Event<'w>) -> u32 {
        match event.name {
            Some((start, end)) => self.chunk.names.intern(self.w, start, end),
            None => NONE,
        }
    }

    fn args_ref(&self, event: &Event<'w>) -> ArgsRef {
        event.args.map_or(ArgsRef::NONE, |(start, end)| {
            ArgsRef::text(self.at + start as u64, end - start)
        })
    }

    fn mark(&mut self, event: &Event<'w>, ts: i64, offset: u64, lane: u32, begin: bool) {
        let name = match event.name {
            // An end may leave its name out.
            Some((start, end)) if start == end && !begin => NONE,
            _ => self.name(event),
        };
        let span = if begin {
            self.note_start(ts, offset);
            self.chunk.spans.push(SpanEvent {
                ts,
                dur: 0,
                args: self.args_ref(event),
                name,
                lane,
                cat: event.cat,
                extra: NONE,
            });
            u32::try_from(self.chunk.spans.len() - 1).unwrap_or(NONE)
        } else {
            NONE
        };
        self.chunk.marks.push(MarkEvent {
            ts,
            offset,
            lane,
            name,
            cat: event.cat,
            span,
        });
    }

    fn instant(&mut self, event: &Event<'w>, ts: i64, offset: u64, lane: u32) {
        if ts == 0 {
            self.chunk.zero_instants.push(offset);
        }
        let name = self.name(event);
        self.chunk.instants.push(InstantEvent {
            ts,
            args: self.args_ref(event),
            name,
            lane,
        });
    }

    /// An allocation on a device; false for other instants, and where it does not say which device.
    fn memory(&mut self, event: &Event<'w>, ts: i64, offset: u64) -> bool {
        let w = self.w;
        let named = event.name.is_some_and(|(a, b)| &w[a..b] == b"[memory]");
        let args = event
            .args
            .filter(|&(pos, _)| named && ts != 0 && w[pos] == b'{');
        let Some((pos, _)) = args else {
            return false;
        };
        let mut values = [None; 5];
        let mut odd = 0;
        // The same args were read before without a defect, or they are skipped as far as they go.
        let _: Result<usize, Fail> = args::each(self, pos, |parser, key, value| {
            let place = match key {
                b"Device Type" => 0,
                b"Device Id" => 1,
                b"Bytes" => 2,
                b"Total Allocated" => 3,
                b"Total Reserved" => 4,
                _ => return parser.skip(value),
            };
            let mut number = Scalar::Missing;
            let end = parser.scalar(value, &mut number)?;
            match number {
                Scalar::Int(i) => values[place] = Some(i),
                Scalar::Text(_) if place >= 3 => odd += 1,
                Scalar::Text(_) | Scalar::Missing => {}
            }
            Ok(end)
        });
        let [Some(kind), Some(device), bytes, allocated, reserved] = values else {
            return false;
        };
        for _ in 0..odd {
            self.chunk.tally.add(Odd::MemoryTotal, offset);
        }
        let says = bytes.or(allocated).is_some();
        if says {
            let pid = self.id(event.pid);
            self.chunk.memory.push(MemoryEvent {
                ts,
                pid,
                kind,
                device,
                bytes,
                allocated,
                reserved,
            });
        }
        says
    }

    fn asynchronous(&mut self, event: &Event<'w>, ts: i64, offset: u64, phase: u8) {
        if event.id == Scalar::Missing {
            return self.chunk.tally.add(Odd::AsyncWithoutId, offset);
        }
        let scope = match event.id_scope {
            IdScope::Global => Id::Missing,
            IdScope::Process => self.id(event.pid),
        };
        let b = self.id(event.id);
        let lane = self.chunk.lanes.intern(LaneKey {
            class: LaneClass::Async,
            a: if self.chunk.cats.class(event.cat) == Class::None {
                Id::Missing
            } else {
                Id::Text(event.cat)
            },
            b,
            scope,
            document: 0,
        });
        match phase {
            b'b' | b'S' => self.mark(event, ts, offset, lane, true),
            b'e' | b'F' => self.mark(event, ts, offset, lane, false),
            _ => self.instant(event, ts, offset, lane),
        }
    }

    fn flow(&mut self, event: &Event<'w>, ts: i64, start: bool) {
        let fwdbwd = match self.chunk.cats.class(event.cat) {
            Class::ForwardBackward => true,
            Class::LaunchFlow => false,
            _ => return,
        };
        let id = self.id(event.id);
        let lane = self.thread(LaneClass::Cpu, event);
        self.chunk.flows.push(FlowEvent {
            ts,
            id,
            lane,
            start,
            fwdbwd,
        });
    }

    fn counter(&mut self, event: &Event<'w>, ts: i64, offset: u64) {
        let (pid, id) = (self.id(event.pid), self.id(event.id));
        let name = self.name(event);
        let mut found = false;
        if let Some((pos, _)) = event.args
            && self.w[pos] == b'{'
        {
            let w = self.w;
            // The same args were read before without a defect, or they are skipped as far as they go.
            let _: Result<usize, Fail> = args::each(self, pos, |parser, key, value| {
                found = true;
                let end = parser.skip(value)?;
                let text = match &w[value..end] {
                    [b'"', inner @ .., b'"'] => inner,
                    bare => bare,
                };
                match decimal::sample(text) {
                    Some(number) => {
                        let key_start = key.as_ptr() as usize - w.as_ptr() as usize;
                        let series = parser
                            .chunk
                            .texts
                            .intern(w, key_start, key_start + key.len());
                        parser.chunk.samples.push(SampleEvent {
                            ts,
                            value: number,
                            pid,
                            id,
                            name,
                            series,
                        });
                    }
                    None => parser.chunk.tally.add(Odd::Value, parser.at + value as u64),
                }
                Ok(end)
            });
        }
        if !found {
            self.chunk.tally.add(Odd::CounterWithoutValue, offset);
        }
    }

    fn meta(&mut self, event: &Event<'w>) {
        let name = event.name.map_or(&b""[..], |(a, b)| &self.w[a..b]);
        let kind = match name {
            b"process_name" => MetaKind::ProcessName,
            b"thread_name" => MetaKind::ThreadName,
            b"process_labels" => MetaKind::ProcessLabels,
            b"process_sort_index" => MetaKind::ProcessSort,
            b"thread_sort_index" => MetaKind::ThreadSort,
            _ => return,
        };
        let (mut text, mut sort) = (Scalar::Missing, event.sort_index);
        if let Some((pos, _)) = event.args
            && self.w[pos] == b'{'
        {
            let _: Result<usize, Fail> = args::each(self, pos, |parser, key, value| match key {
                b"name" | b"labels" => {
                    let end = parser.skip(value)?;
                    if let [b'"', inner @ .., b'"'] = &parser.w[value..end] {
                        text = Scalar::Text(inner);
                    }
                    Ok(end)
                }
                b"sort_index" => {
                    let mut number = Scalar::Missing;
                    let end = parser.scalar(value, &mut number)?;
                    if let Scalar::Int(i) = number {
                        sort = Some(i);
                    }
                    Ok(end)
                }
                _ => parser.skip(value),
            });
        }
        let text = match self.id(text) {
            Id::Text(text) => text,
            _ => NONE,
        };
        let (pid, tid) = (self.id(event.pid), self.id(event.tid));
        match kind {
            MetaKind::ProcessSort | MetaKind::ThreadSort if sort.is_none() => {}
            MetaKind::ProcessName | MetaKind::ThreadName | MetaKind::ProcessLabels
                if text == NONE => {}
            _ => self.chunk.metas.push(MetaEvent {
                kind,
                pid,
                tid,
                text,
                sort: sort.unwrap_or(0),
            }),
        }
    }
}
