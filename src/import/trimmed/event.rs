//! One line of the list.

use std::borrow::Cow;
use std::collections::BTreeMap;

use serde::Deserialize;
use serde_json::Value;
use serde_json::value::RawValue;

use crate::import::text::decimal;
use crate::model::{CopyInfo, CopyKind};

/// An event as it was written; keys that are for other readers are passed over.
#[derive(Deserialize)]
pub(super) struct Line<'l> {
    #[serde(borrow)]
    pub ph: Cow<'l, str>,
    /// The number of a span, by which others refer to it.
    pub n: Option<u64>,
    pub lane: Option<usize>,
    pub source: Option<usize>,
    pub counter: Option<usize>,
    #[serde(borrow)]
    ts: Option<&'l RawValue>,
    #[serde(borrow)]
    dur: Option<&'l RawValue>,
    #[serde(borrow, default)]
    pub name: Cow<'l, str>,
    #[serde(borrow, default)]
    pub cat: Cow<'l, str>,
    /// It does not count.
    #[serde(default)]
    pub about: bool,
    /// The number of the span that launched it.
    pub call: Option<u64>,
    /// Numbers of its backward operators.
    #[serde(default)]
    pub backward: Vec<u64>,
    copy: Option<(Option<i64>, Value, Option<i64>)>,
    /// What it waited for.
    pub sync: Option<Vec<Value>>,
    /// Its end was not recorded.
    #[serde(default)]
    pub open: bool,
    #[serde(borrow)]
    pub args: Option<&'l RawValue>,
}

impl Line<'_> {
    /// Start, ns.
    pub fn start(&self) -> Option<i64> {
        time(self.ts)
    }

    /// Length, ns.
    pub fn len(&self) -> Option<i64> {
        time(self.dur)
    }

    /// What was copied.
    pub fn copied(&self) -> Option<CopyInfo> {
        let (bytes, kind, raw_kind) = self.copy.as_ref()?;
        let kind = match kind {
            Value::String(key) => Some(match key.as_str() {
                "h2d" => CopyKind::HostToDevice,
                "d2h" => CopyKind::DeviceToHost,
                "d2d" => CopyKind::DeviceToDevice,
                "p2p" => CopyKind::PeerToPeer,
                "h2h" => CopyKind::HostToHost,
                "managed" => CopyKind::Managed,
                _ => return None,
            }),
            Value::Number(n) => Some(CopyKind::Other(n.as_u64()?.try_into().ok()?)),
            _ => None,
        };
        Some(CopyInfo {
            bytes: *bytes,
            kind,
            raw_kind: *raw_kind,
        })
    }

    /// The value of a sample.
    pub fn sample(&self) -> Option<f64> {
        let values: BTreeMap<String, f64> = serde_json::from_str(self.args?.get()).ok()?;
        values.values().next().copied()
    }
}

fn time(text: Option<&RawValue>) -> Option<i64> {
    let text = text?.get().as_bytes();
    decimal::us_to_ns(text).ok().map(|ns| ns.ns)
}
