#!/usr/bin/env bash
# The real window on a display that nobody looks at: opens a sample by argument, drags over a step, walks to the next
# exposed wait, exports a picture, and checks the outcome in the state that the window writes on request
# (STALLSCOPE_STATE_DUMP, see src/app/shell/dump.rs). Needs Xvfb, xdotool and python3.
#
#   tests/window/run.sh [PROGRAM]      default: the debug build, built if need be
set -euo pipefail
cd "$(dirname "$0")/../.."

program=${1:-}
if [ -z "$program" ]; then
    cargo build --locked --quiet
    program=${CARGO_TARGET_DIR:-target}/debug/stallscope
fi
work=$(mktemp -d "${TMPDIR:-/tmp}/stallscope-window.XXXXXX")
state=$work/state.json
pids=()
cleanup() {
    for pid in "${pids[@]}"; do kill "$pid" 2>/dev/null || true; done
    rm -rf "$work"
}
trap cleanup EXIT

fail() {
    printf 'window test: %s\n' "$*" >&2
    [ -f "$state" ] && { cat "$state" >&2; printf '\n' >&2; }
    [ -f "$work/log" ] && tail -n 20 "$work/log" >&2
    exit 1
}

# A display whose number nobody uses: Xvfb says which.
exec 3>"$work/display"
Xvfb -displayfd 3 -screen 0 1400x900x24 -nolisten tcp >"$work/xvfb.log" 2>&1 &
pids+=($!)
for _ in $(seq 100); do [ -s "$work/display" ] && break; sleep 0.1; done
[ -s "$work/display" ] || fail "Xvfb does not start"
DISPLAY=:$(tr -d '\n' <"$work/display")
export DISPLAY

export STALLSCOPE_CONFIG_DIR=$work/config STALLSCOPE_STATE_DUMP=$state
here=$PWD
case $program in /*) ;; *) program=$here/$program ;; esac
(cd "$work" && exec "$program" "$here/sample_traces/torch_4_workers.json.gz" >"$work/log" 2>&1) &
pids+=($!)

# ask EXPRESSION: a Python expression over the state `s`, the trace `t` and its only GPU's figures `g`.
ask() {
    python3 - "$state" "$1" <<'PY'
import json, sys
with open(sys.argv[1], encoding="utf-8") as f:
    s = json.load(f)
t = s.get("trace")
g = (t or {}).get("selection", {}).get("gpus", [{}])
g = g[0] if g else {}
print(eval(sys.argv[2]))
PY
}

# wait_for WHAT EXPRESSION: until it is true, at most a minute.
wait_for() {
    for _ in $(seq 300); do
        if [ -f "$state" ] && [ "$(ask "bool($2)" 2>/dev/null)" = True ]; then return; fi
        sleep 0.2
    done
    fail "waited in vain for $1: $2"
}

expect() {
    [ "$(ask "bool($2)")" = True ] || fail "$1: $2"
    printf 'ok: %s\n' "$1"
}

wait_for "the trace" "t and not s['loading']"
expect "the sample opens with the verdict" "t['tab'] == 'Verdict' and t['waits'] > 0"
window=$(xdotool search --sync --onlyvisible --name Stallscope | tail -n 1)
# Without a window manager nobody else gives it the keys.
xdotool windowfocus --sync "$window"

read -r left top right <<<"$(ask "'%d %d %d' % tuple(t['canvas'][:3])")"
y=$((top + 8))
from=$((left + (right - left) / 4))
to=$((left + (right - left) / 2))
xdotool mousemove "$from" "$y" mousedown 1
for i in 1 2 3 4 5 6 7 8; do
    xdotool mousemove $((from + (to - from) * i / 8)) "$y"
    sleep 0.05
done
wait_for "a range while dragging" "t['range']"
xdotool mouseup 1
expect "the parts of a dragged range add up" \
    "sum(g[k] for k in g if k.endswith('_ns')) == t['range'][1] - t['range'][0] > 0"

xdotool key ctrl+a
# The simulation that made the sample says what is right.
truth() { sed -n "s/^$1 = //p" sample_traces/torch_4_workers.toml; }
wait_for "everything to be selected" "t['range'] and t['range'][0] == 0 and t['selection']['steps'] == $(truth steps)"
expect "exposed wait is that of the simulation" "t['selection']['wait_exposed_ns'] == $(truth wait_exposed)"
expect "hidden wait is that of the simulation" "t['selection']['wait_hidden_ns'] == $(truth wait_hidden)"
expect "GPU busy is that of the simulation" "g['busy_ns'] == $(truth gpu_busy)"

xdotool key n
wait_for "the first exposed wait" "t['wait'] == 1 and t['span'] and not t['moving']"
xdotool key n
wait_for "the second exposed wait" "t['wait'] == 2 and not t['moving']"
expect "the wait is in view" "t['view'][0] <= t['range'][0] and t['range'][1] <= t['view'][1]"

xdotool key ctrl+e
wait_for "the export dialog" "s['dialog'] == 'export'"
xdotool key Escape
wait_for "the dialog to close" "s['dialog'] is None"
xdotool key ctrl+e
wait_for "the export dialog again" "s['dialog'] == 'export'"
sleep 0.5
xdotool key Return
wait_for "the picture" "s['written']"
picture=$(ask "s['written']")
[ "$(head -c 4 "$picture" | od -An -tx1 | tr -d ' ')" = 89504e47 ] || fail "no PNG in $picture"
printf 'ok: a picture was written\n'
xdotool key Escape
wait_for "the dialog to close" "s['dialog'] is None"

xdotool key ctrl+q
for _ in $(seq 50); do kill -0 "${pids[1]}" 2>/dev/null || break; sleep 0.1; done
kill -0 "${pids[1]}" 2>/dev/null && fail "the window does not close"
[ -f "$work/config/window.json" ] || fail "nothing is remembered"
printf 'ok: the window closes and remembers\n'
