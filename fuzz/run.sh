#!/usr/bin/env bash
# Builds the fuzz targets with coverage and runs one of them: fuzz/run.sh TARGET [SECONDS] [libFuzzer options]
set -euo pipefail
cd "$(dirname "$0")"
target=$1
seconds=${2:-60}
shift $(($# < 2 ? $# : 2))

host=$(rustc -vV | sed -n 's/^host: //p')
sancov="-Cpasses=sancov-module -Cllvm-args=-sanitizer-coverage-level=4"
for option in inline-8bit-counters pc-table trace-compares; do
    sancov="$sancov -Cllvm-args=-sanitizer-coverage-$option"
done
RUSTFLAGS="--cfg fuzzing $sancov -Ccodegen-units=1" \
    cargo +nightly build --release --target "$host" --bin "$target"

mkdir -p "corpus/$target" "artifacts/$target"
# A file is run alone; libFuzzer does so only where no folder stands beside it.
corpus=("corpus/$target")
[ -f "${1:-}" ] && corpus=()
exec "target/$host/release/$target" "${corpus[@]}" \
    -artifact_prefix="artifacts/$target/" -dict=support/tokens.dict \
    -max_total_time="$seconds" -timeout=10 -rss_limit_mb=2048 -malloc_limit_mb=1024 -max_len=65536 "$@"
