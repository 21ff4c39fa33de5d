//! Collectives of several ranks of a run: which operations are one collective, who arrived last, what is waiting.
//!
//! ```text
//! rank 0   ├──────────── all-reduce ───────────┤     ranks leave a collective together: the longer one was there
//! rank 1        ├──────── all-reduce ──────────┤     earlier and waited by what it is longer than the shortest,
//! rank 2                   ├──── all-reduce ───┤     which came last
//!          └─── waits ─────┘└── the transfer ──┘
//! ```
//!
//! Needs no clock that the ranks share: only lengths are compared. `told` says what args tell of an operation, `found` what
//! takes part, `matching` which operations are one collective, `arrival` who was late; `ranks` puts it together for
//! the ranks of a run, `attendance` tells it of one operation, `own` of all of one rank.

pub(super) mod arrival;
pub(super) mod attendance;
pub(super) mod found;
pub(super) mod kinds;
pub(super) mod matching;
pub(super) mod own;
pub(super) mod ranks;
pub(super) mod told;
