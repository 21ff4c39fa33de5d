//! What was not recorded of several ranks, in words.

use std::collections::{BTreeMap, BTreeSet};

use crate::analysis::Analysis;
use crate::analysis::verdict::issue::Verdict;
use crate::analysis::verdict::missing::Missing;

impl Analysis {
    /// What was not recorded of ranks, in a sentence each, without what was said before.
    #[must_use]
    pub fn missing_texts(&self, verdicts: &[Verdict], said: &[&str]) -> Vec<String> {
        let all: BTreeSet<Missing> = verdicts
            .iter()
            .flat_map(|v| v.missing.iter().copied())
            .collect();
        let mut out = Vec::new();
        // Without waits and steps there is no loop whose workers could be missed.
        let no_loop = all.contains(&Missing::NoFetch) && all.contains(&Missing::NoSteps);
        for what in all {
            if no_loop && what == Missing::NoWorkers {
                continue;
            }
            // Ranks may lack the same for different reasons.
            let mut groups: BTreeMap<(bool, String), Vec<String>> = BTreeMap::new();
            for v in verdicts.iter().filter(|v| v.missing.contains(&what)) {
                // Workers that do not exist are not missing from the record.
                let none = what == Missing::NoWorkers && self.loads_by_itself(v.rank);
                let key = (none, self.missing_text(v.rank, what));
                let rank = self.ranks()[v.rank].rank.to_string();
                groups.entry(key).or_default().push(rank);
            }
            for ((none, text), ranks) in groups {
                if said.contains(&text.as_str()) {
                    continue;
                }
                let some = if ranks.len() < verdicts.len() {
                    format!(" (ranks {})", ranks.join(", "))
                } else {
                    String::new()
                };
                let begin = match none || !what.is_signal() {
                    true => "Note",
                    false => "Not recorded",
                };
                out.push(format!("{begin}{some}: {text}"));
            }
        }
        out
    }
}
