#!/usr/bin/env bash
# Renews the pictures of the window that the README shows: real traces, in both themes, on a display that nobody
# looks at. Needs Xvfb, ImageMagick's `import`, and the collection of real traces in ../shared.
#
#   assets/make.sh [PROGRAM]      default: the debug build, built if need be
set -euo pipefail
cd "$(dirname "$0")/.."

program=${1:-}
if [ -z "$program" ]; then
    cargo build --locked --quiet
    program=$PWD/${CARGO_TARGET_DIR:-target}/debug/stallscope
fi
traces=$PWD/../shared
work=$(mktemp -d "${TMPDIR:-/tmp}/stallscope-pictures.XXXXXX")
pids=()
cleanup() {
    for pid in "${pids[@]}"; do kill "$pid" 2>/dev/null || true; done
    rm -rf "$work"
}
trap cleanup EXIT

exec 3>"$work/display"
Xvfb -displayfd 3 -screen 0 1400x900x24 -nolisten tcp >/dev/null 2>&1 &
pids+=($!)
for _ in $(seq 100); do [ -s "$work/display" ] && break; sleep 0.1; done
DISPLAY=:$(tr -d '\n' <"$work/display")
export DISPLAY

# shot NAME THEME PATH
shot() {
    local config=$work/config-$1-$2 state=$work/state.json
    mkdir -p "$config"
    printf '{"version":1,"theme":"%s","hints_seen":["zoom","select"]}\n' "$2" >"$config/window.json"
    rm -f "$state"
    STALLSCOPE_CONFIG_DIR=$config STALLSCOPE_STATE_DUMP=$state "$program" "$3" >/dev/null 2>&1 &
    local pid=$!
    pids+=("$pid")
    for _ in $(seq 300); do
        if [ -f "$state" ] && grep -q '"loading": *false' "$state" && ! grep -q '"trace": *null' "$state"; then break; fi
        sleep 0.2
    done
    sleep 3 # levels of detail and panels come in after the trace
    import -window root -depth 8 "assets/$1_$2.png"
    kill "$pid"
    wait "$pid" 2>/dev/null || true
}

for theme in dark light; do
    shot window "$theme" \
        "$traces/traces/torch/AMD-AGI-TraceLens__h100_google_owlv2-large-patch14-ensemble__1016001.json.gz"
    shot nsight "$theme" "$traces/traces/nsight/2026.2.1_nsys-ai_train2gpu_60ms.sqlite"
    shot dftracer "$theme" "$traces/traces/dftracer/runs/w4"
done
