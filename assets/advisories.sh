#!/usr/bin/env bash
# Compares Cargo.lock with the database of known vulnerabilities of crates. For machines that reach it, now and then and before
# a release; the build server's checks (.ci/run) do without.
set -euo pipefail
cd "$(dirname "$0")/.."
command -v cargo-deny >/dev/null || {
    echo "advisories.sh: cargo-deny is not there: cargo install --locked cargo-deny" >&2
    exit 1
}
exec cargo deny --locked check advisories
