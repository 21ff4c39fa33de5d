//! Two recordings that are open side by side: before a change, and after it.

use std::path::PathBuf;

use super::analyse::{self, Analysed};
use super::args::{Open, Scope};
use super::{CliError, load, recordings};
use crate::analysis::compare::{Alike, CompareOptions, Comparison, Recording, compare};

/// Both sides, and what may be said of them.
pub struct Both {
    /// Before and after: figures, and what is compared of them.
    pub sides: [(Analysed, Recording); 2],
    /// What may be said.
    pub found: Comparison,
}

impl Both {
    /// Opens the files of both sides; one is read again where its steps must be of the class of the other's.
    pub fn open(files: &[Vec<PathBuf>; 2], open: &Open, scope: &Scope) -> Result<Self, CliError> {
        let side = |paths: &[PathBuf], scope: &Scope| -> Result<(Analysed, Recording), CliError> {
            let a = analyse::analyse(load::open(paths, open)?, scope)?;
            let recording = Recording::of(&a.analysis, &recordings::told(&a));
            let recording = match a.number() {
                Some(rank) => recording.only(rank),
                None => recording,
            };
            Ok((a, recording))
        };
        let mut sides = [side(&files[0], scope)?, side(&files[1], scope)?];
        let of = |sides: &[(Analysed, Recording); 2]| sides.each_ref().map(|s| [s.1.clone()]);
        let [b, a] = of(&sides);
        let alike = Alike::of(&b, &a, None);
        let scope = Scope {
            steps: alike.class,
            ..scope.clone()
        };
        for (i, again) in alike.recomputed.into_iter().enumerate() {
            if again {
                sides[i] = side(&files[i], &scope)?;
            }
        }
        let [b, a] = of(&sides);
        let options = CompareOptions {
            alike,
            ..CompareOptions::default()
        };
        let found = compare(&b, &a, &options);
        Ok(Self { sides, found })
    }
}
