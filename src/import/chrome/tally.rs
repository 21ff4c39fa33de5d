//! What may be odd in a file, and the stretches of it in which no event could be read.

use crate::import::contract::report::{ImportReport, Loss, Lost, NoticeKind, Place};
use crate::import::contract::tally::{self, reasons};
use crate::model::SourceId;

reasons! {
    /// A reason to count something. Of what is skipped the text is one, several, what.
    pub(super) enum Odd {
        /// A comma before a closing bracket, or one too many.
        Comma: Repaired, "extra_comma", "Commas that do not separate anything were ignored.";
        /// No comma between two elements.
        NoComma: Repaired, "missing_comma", "Elements without a comma between them were read as two.";
        /// A list of events in the list.
        Nested: Repaired, "nested_list", "Lists of events inside the event list were read as parts of it.";
        /// A closing bracket behind which the list goes on.
        Bracket: Repaired, "early_bracket", "Closing brackets stand in front of more events; they were passed over.";
        /// Zero bytes or other control characters between two elements.
        Padding: Repaired, "padding",
            "Bytes between elements are zeros or other control characters, not blanks; they were passed over.";
        /// A quote inside a text that is not escaped.
        Quote: Repaired, "unescaped_quote",
            "Quotes inside a text are not escaped; the text was read up to where the next key begins.";
        /// A key without its opening quote.
        KeyQuote: Repaired, "missing_quote", "Keys lack their opening quote and were read without it.";
        /// `inf`, `nan`, a hexadecimal literal or a bare word as a value.
        BareWord: Repaired, "bare_word",
            "Values such as inf, nan, hexadecimal literals or bare words are not JSON; they count as no number unless they are whole numbers.";
        /// A name with a bad escape.
        Escape: Repaired, "bad_escape", "Names hold backslashes that escape nothing; they were kept as written.";
        /// A name that is no UTF-8.
        Utf8: Repaired, "bad_utf8", "Names hold bytes that are not UTF-8; they are shown as U+FFFD.";
        /// A name with an escape that is half of a character.
        Surrogate: Repaired, "lone_surrogate",
            "Names hold escapes of half a character (\\ud800 to \\udfff); they are shown as U+FFFD.";
        /// A name with raw control characters.
        Control: Repaired, "control_character", "Names hold raw control characters; they were kept.";
        /// A text that is too long for a name.
        LongText: Repaired, "long_name", "Names are longer than 64 KiB; they were cut there.";
        /// A negative duration.
        NegativeDur: Repaired, "negative_dur", "Negative durations were read as 0.";
        /// A GPU operation of negative duration: when it ran is not known.
        NegativeOp: Skipped, "negative_op", "GPU operation|GPU operations|ended before their start";
        /// Text that is no event.
        Broken: Skipped, "broken_event", "stretch|stretches|of text in the event list could not be read as an event";
        /// An event that is too large.
        TooLarge: Skipped, "large_event", "event|events|exceeded 64 MiB, the limit for a single one,";
        /// An element of the list that is no object.
        NotObject: Skipped, "not_an_object", "element|elements|of the event list had another form than an object";
        /// `ts` is missing or no number.
        Ts: Skipped, "bad_ts", "event|events|had no valid start (ts)";
        /// `dur` is no number.
        Dur: Skipped, "bad_dur", "event|events|had a duration that is no number";
        /// `ts` or `dur` is beyond all times.
        FarTime: Skipped, "far_time", "event|events|had a time or a duration beyond 73 years";
        /// An X event without `dur`.
        NoDur: Skipped, "x_without_dur", "event|events|had no duration";
        /// An event without `ph`.
        NoPhase: Skipped, "no_phase", "event|events|had no phase (ph)";
        /// A phase that the format does not know.
        UnknownPhase: Skipped, "unknown_phase", "event|events|had an unknown phase";
        /// A counter value that is no number.
        Value: Skipped, "bad_counter_value", "counter value|counter values|had another form than a number";
        /// Async events without an id.
        AsyncWithoutId: Skipped, "async_without_id", "async event|async events|had no id by which begins and ends belong together";
        /// A total of device memory that is no number of bytes.
        MemoryTotal: Skipped, "bad_memory_total",
            "total|totals|of device memory had another form than a whole number below 2^63";
        /// The number of a GPU or stream is no whole number.
        GpuNumber: Guessed, "gpu_number",
            "The device or stream in the args of GPU rows is no whole number; the pid or tid of the row was taken instead.";
        /// A time with digits below 1 ns.
        Rounded: Info, "rounded_time", "Times have digits below 1 ns; they were rounded to whole nanoseconds.";
        /// A span at time 0 in a file that starts elsewhere.
        ZeroTime: Skipped, "zero_time", "span|spans|lay at time 0, far from everything else in the file,";
        /// The part of the file outside the event list is broken.
        Root: Damaged, "broken_header", "The part of the file outside the event list cannot be read completely.";
        /// An end without a begin.
        EndWithoutBegin: Skipped, "e_without_b", "end event|end events|had no begin event";
        /// A begin without an end.
        BeginWithoutEnd: Guessed, "b_without_e", "Spans whose end was not recorded are drawn to the end of the file.";
        /// An end that closed a span of another name, or not the innermost one.
        NameMismatch: Guessed, "name_mismatch",
            "End events closed a span of another name, or one that is not the innermost.";
        /// An end that closed the innermost span of its category, whose name is another.
        OtherName: Info, "e_of_other_name",
            "End events carry another name than the span of their category that they closed.";
        /// `{}`.
        Empty: Info, "empty_event", "Empty events {} were ignored.";
        /// Phases that are not drawn.
        NotDrawn: Info, "not_drawn",
            "Events of phases that are not drawn (samples, objects, contexts, memory dumps) were counted only.";
        /// More async ids than lanes of their own.
        ManyAsync: Info, "many_async_ids",
            "There are more asynchronous ids than have a lane of their own (4,096): spans of the rest lie on a lane for each category.";
        /// Counters without values.
        CounterWithoutValue: Info, "counter_without_value", "Counter events without values were ignored.";
        /// The second form of flows.
        BindId: Info, "bind_id_flows", "Flows given by bind_id were counted; flows are not drawn.";
    }
}

/// Counts by reason, and what could not be read.
#[derive(Clone, Debug, Default)]
pub(super) struct Tally {
    counts: tally::Tally<Odd>,
    /// Stretches in which no event could be read: the sum of their ends less that of their beginnings. Chunks know one
    /// without the other; the sum of all of them is right, so it wraps.
    skipped: u64,
    /// Beginnings of stretches less ends.
    open: i64,
}

impl Tally {
    /// Counts one, at a byte offset of the stream.
    pub fn add(&mut self, odd: Odd, offset: u64) {
        self.counts.add(odd, || Place::Byte(offset));
    }

    /// Counts some of which no place is known.
    pub fn add_many(&mut self, odd: Odd, n: u64) {
        self.counts.add_many(odd, n, None);
    }

    /// From here on no event can be read.
    pub fn lost(&mut self, offset: u64) {
        self.skipped = self.skipped.wrapping_sub(offset);
        self.open += 1;
    }

    /// From here on they can again.
    pub fn found(&mut self, offset: u64) {
        self.skipped = self.skipped.wrapping_add(offset);
        self.open -= 1;
    }

    /// Bytes of all stretches in which no event could be read, of a text of so many.
    fn skipped(&self, bytes: u64) -> u64 {
        let to_the_end = if self.open > 0 { bytes } else { 0 };
        self.skipped.wrapping_add(to_the_end).min(bytes)
    }

    /// Forgets a reason, where it turned out to be none.
    pub fn without(&mut self, odd: Odd) {
        self.counts.clear(odd);
    }

    /// How many of a reason.
    pub fn count(&self, odd: Odd) -> u64 {
        self.counts.count(odd)
    }

    /// The first place of a reason.
    pub fn first(&self, odd: Odd) -> Option<u64> {
        match self.counts.get(odd)?.places.first()? {
            Place::Byte(offset) => Some(*offset),
            Place::Line(_) | Place::Row(_) => None,
        }
    }

    /// Adds what was counted behind this, and empties `other`.
    pub fn take(&mut self, other: &mut Self) {
        self.counts.take(std::mem::take(&mut other.counts));
        self.skipped = self
            .skipped
            .wrapping_add(std::mem::take(&mut other.skipped));
        self.open += std::mem::take(&mut other.open);
    }

    /// Takes back what was counted last, which will be counted again.
    pub fn forget(&mut self, last: &Self) {
        self.counts.forget(&last.counts);
    }

    /// True where nothing was odd.
    pub fn is_empty(&self) -> bool {
        self.counts.is_empty()
    }

    /// Writes the notices. `events` were read of a text of `bytes`.
    pub fn report(
        &self,
        report: &mut ImportReport,
        source: Option<SourceId>,
        bytes: u64,
        events: u64,
    ) {
        let skipped = self.skipped(bytes);
        let read = bytes.saturating_sub(skipped + self.count(Odd::Padding));
        for (odd, count) in self.counts.counts() {
            let (kind, code, text) = odd.texts();
            let fact = match odd {
                // Room for an event: no writer leaves it empty, but a disk that lost a page does.
                Odd::Padding if Lost::stretch(count.n, read, events).events > Some(0) => {
                    let lost = Lost::stretch(count.n, read, events);
                    let first = &count.places[..count.places.len().min(1)];
                    let text = format!(
                        "Zeros or other control characters stand where events belong (from {}): {lost} are lost.",
                        first.first().map_or_else(String::new, ToString::to_string)
                    );
                    let fact = NoticeKind::Damaged.losing(Loss::Cut(lost));
                    report.note_whole(fact, "hole", source, count.n, first, text);
                    continue;
                }
                Odd::Broken => {
                    let mut lost = Lost::stretch(skipped, read, events);
                    // Each of them was to be an event, at least.
                    lost.events = lost.events.map(|n| n.max(count.n));
                    let mut text = count.skipped(text).unwrap_or_default();
                    text.pop();
                    text += &format!(": {lost}.");
                    let fact = kind.losing(Loss::Part(lost));
                    report.note_whole(fact, code, source, count.n, &count.places, text);
                    continue;
                }
                Odd::Value | Odd::MemoryTotal => kind.losing(Loss::Nothing),
                _ if kind == NoticeKind::Skipped => kind.losing(Loss::Part(Lost::events(count.n))),
                _ => kind.into(),
            };
            count.note(report, source, fact, code, text);
        }
    }
}
