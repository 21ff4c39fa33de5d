#!/usr/bin/env bash
# Everything that the build server checks, in the same order. Run it before a commit.
set -euo pipefail
cd "$(dirname "$0")"

step() { printf '\n== %s\n' "$*"; }

step "format"
cargo fmt --check

step "lints"
cargo clippy --locked --all-targets -- -D warnings

step "the core builds without egui"
cargo check --locked --lib --no-default-features

step "tests"
cargo test

step "the recording helper"
STALLSCOPE_PROGRAM=$(realpath "${CARGO_TARGET_DIR:-target}/debug/stallscope") \
    python3 -m unittest discover --verbose --start-directory python/tests --top-level-directory python

step "documentation"
RUSTDOCFLAGS="-D warnings" cargo doc --locked --no-deps

step "all good"
