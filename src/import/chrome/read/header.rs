//! What stands around the event list: time base, device names, versions, rank. Only known keys are ever looked at;
//! free keys of a file may hold user names, host names and whole environments and are never kept.
use serde_json::Value;

use crate::import::text::decimal;

/// The keys that are kept until the end of the file.
const WANTED: [&str; 21] = [
    "baseTimeNanoseconds",
    "computeProperties",
    "cuda_driver_version",
    "cuda_runtime_version",
    "cupti_version",
    "deviceProperties",
    "displayTimeUnit",
    "distributedInfo",
    "hip_driver_version",
    "hip_runtime_version",
    "host_name",
    "profile_memory",
    "record_shapes",
    "rocprofiler-sdk_version",
    "roctracer_version",
    "schemaVersion",
    "with_flops",
    "with_modules",
    "with_stack",
    "xpu_runtime_version",
    "xpu_driver_version",
];

/// A value of a wanted key may be this long.
pub(crate) const MAX_VALUE: usize = 4 << 20;

/// True for keys whose values are needed.
pub(crate) fn is_wanted(key: &str) -> bool {
    WANTED.contains(&key)
}

/// Values of the wanted keys; the last one of a key wins.
#[derive(Debug, Default)]
pub(crate) struct Header {
    values: Vec<(String, String)>,
}

impl Header {
    /// Keeps the value of a wanted key, as JSON text.
    pub fn set(&mut self, key: &str, value: &[u8]) {
        let value = String::from_utf8_lossy(value).into_owned();
        match self.values.iter_mut().find(|(k, _)| k == key) {
            Some(slot) => slot.1 = value,
            None => self.values.push((key.to_owned(), value)),
        }
    }

    /// The text of a value, without quotes.
    fn text(&self, key: &str) -> Option<&str> {
        let (_, value) = self.values.iter().find(|(k, _)| k == key)?;
        Some(value.trim_matches('"'))
    }

    fn json(&self, key: &str) -> Option<Value> {
        let (_, value) = self.values.iter().find(|(k, _)| k == key)?;
        serde_json::from_str(value).ok()
    }

    /// True where torch.profiler wrote the file.
    pub fn is_torch(&self) -> bool {
        self.text("schemaVersion").is_some()
            || self.text("deviceProperties").is_some()
            || self.text("distributedInfo").is_some()
    }

    /// `baseTimeNanoseconds`.
    pub fn base(&self) -> Option<i64> {
        decimal::integer(self.text("baseTimeNanoseconds")?.as_bytes())
    }

    /// The rank in `distributedInfo`.
    pub fn rank(&self) -> Option<u32> {
        let info = self.json("distributedInfo")?;
        let rank = info.get("rank")?;
        let number = match rank {
            Value::String(s) => decimal::integer(s.as_bytes())?,
            other => other.as_i64()?,
        };
        u32::try_from(number).ok()
    }

    /// The number of ranks in `distributedInfo`.
    pub fn world(&self) -> Option<u32> {
        let info = self.json("distributedInfo")?;
        u32::try_from(info.get("world_size")?.as_u64()?).ok()
    }

    /// `host_name`.
    pub fn host(&self) -> Option<String> {
        let name = self.json("host_name")?.as_str()?.to_owned();
        Some(name).filter(|n| !n.is_empty())
    }

    /// Machine names and sentences about values that are there and cannot be used.
    pub fn unusable(&self) -> Vec<(&'static str, &'static str)> {
        let mut found = Vec::new();
        let base = self.text("baseTimeNanoseconds");
        if base.is_some_and(|text| text != "null") && self.base().is_none() {
            found.push((
                "bad_base_time",
                "The base time of the file (baseTimeNanoseconds) is no whole number of nanoseconds and was ignored: \
                 the file cannot be related to others by its clock.",
            ));
        }
        let given = match (self.text("distributedInfo"), self.json("distributedInfo")) {
            (None | Some("null"), _) => false,
            (Some(_), Some(info)) => info.get("rank").is_some_and(|rank| !rank.is_null()),
            (Some(_), None) => true,
        };
        if given && self.rank().is_none() {
            found.push((
                "bad_rank",
                "The rank that the file states (distributedInfo) is no rank and was ignored.",
            ));
        }
        found
    }

    /// (id, name) of the GPUs.
    pub fn devices(&self) -> Vec<(i64, String)> {
        let list = self
            .json("deviceProperties")
            .or_else(|| self.json("computeProperties"));
        let Some(Value::Array(list)) = list else {
            return Vec::new();
        };
        list.iter()
            .filter_map(|d| {
                let id = d.get("id")?.as_i64()?;
                let name = d.get("name")?.as_str()?.trim();
                (!name.is_empty()).then(|| (id, name.to_owned()))
            })
            .collect()
    }

    /// Facts for display.
    pub fn facts(&self) -> Vec<(String, String)> {
        let mut facts = Vec::new();
        for (key, label) in [
            ("schemaVersion", "schema"),
            ("cuda_runtime_version", "CUDA runtime"),
            ("cuda_driver_version", "CUDA driver"),
            ("cupti_version", "CUPTI"),
            ("hip_runtime_version", "HIP runtime"),
            ("hip_driver_version", "HIP driver"),
            ("roctracer_version", "roctracer"),
            ("rocprofiler-sdk_version", "rocprofiler-sdk"),
            ("xpu_runtime_version", "XPU runtime"),
            ("xpu_driver_version", "XPU driver"),
        ] {
            if let Some(value) = self.text(key).filter(|v| v.len() <= 40) {
                facts.push((label.to_owned(), value.to_owned()));
            }
        }
        if let Some(info) = self.json("distributedInfo") {
            for (key, label) in [("backend", "backend"), ("world_size", "world size")] {
                match info.get(key) {
                    Some(Value::String(s)) if s.len() <= 40 => {
                        facts.push((label.to_owned(), s.clone()));
                    }
                    Some(Value::Number(n)) => facts.push((label.to_owned(), n.to_string())),
                    _ => {}
                }
            }
        }
        let on: Vec<&str> = [
            ("record_shapes", "shapes"),
            ("profile_memory", "memory"),
            ("with_stack", "stacks"),
            ("with_flops", "flops"),
            ("with_modules", "modules"),
        ]
        .into_iter()
        .filter(|(key, _)| matches!(self.text(key), Some("1" | "true")))
        .map(|(_, label)| label)
        .collect();
        if !on.is_empty() {
            facts.push(("recorded".to_owned(), on.join(", ")));
        }
        facts
    }

    /// `schema 1`, for the producer line.
    pub fn schema(&self) -> Option<&str> {
        self.text("schemaVersion").filter(|s| s.len() <= 20)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_header_gives_facts_but_no_free_keys() {
        let mut header = Header::default();
        header.set("baseTimeNanoseconds", b"1751410836000000000");
        header.set(
            "distributedInfo",
            br#"{"backend":"nccl","rank":3,"world_size":8}"#,
        );
        header.set(
            "deviceProperties",
            br#"[{"id":2,"name":"MI300X"},{"id":3,"name":""}]"#,
        );
        header.set("with_stack", b"1");
        assert_eq!(header.base(), Some(1_751_410_836_000_000_000));
        assert_eq!(header.rank(), Some(3));
        assert_eq!(header.devices(), [(2, "MI300X".to_owned())]);
        assert!(!is_wanted("username") && !is_wanted("INFO") && !is_wanted("traceName"));
        let facts = header.facts();
        assert!(facts.contains(&("recorded".to_owned(), "stacks".to_owned())));
    }
}
