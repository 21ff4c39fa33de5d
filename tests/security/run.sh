#!/usr/bin/env bash
# What docs/security.md promises, watched from outside: commands open no socket, start no other program, and write
# nothing but the file that was asked for. Needs strace.
#
#   tests/security/run.sh [PROGRAM]      default: the debug build, built if need be
set -euo pipefail
cd "$(dirname "$0")/../.."

program=${1:-}
if [ -z "$program" ]; then
    cargo build --locked --quiet
    program=${CARGO_TARGET_DIR:-$PWD/target}/debug/stallscope
fi
work=$(mktemp -d "${TMPDIR:-/tmp}/stallscope-security.XXXXXX")
trap 'rm -rf "$work"' EXIT
mkdir "$work/traces" "$work/out"
cp -r sample_traces/. "$work/traces"
find "$work/traces" -type f -exec sha256sum {} + | sort >"$work/before"
passed=0 failed=0

fail() {
    printf 'FAILED: %s\n' "$*"
    failed=$((failed + 1))
}

# watched NAME ALLOWED ARGUMENT…: ALLOWED is the only path that may be created or renamed to.
watched() {
    local name=$1 allowed=$2 log=$work/log code=0
    shift 2
    strace -f -o "$log" -e trace=socket,connect,bind,execve,openat,creat,mkdir,mkdirat,rename,renameat,renameat2,link,linkat,symlink,symlinkat,unlink,unlinkat \
        "$program" "$@" >/dev/null 2>"$work/stderr" || code=$?
    if [ "$code" -gt 4 ]; then
        fail "$name: exit code $code"
        return
    fi
    local bad
    bad=$(grep -E '(socket|connect|bind)\(' "$log" || true)
    [ -z "$bad" ] || fail "$name opens a socket: $bad"
    # The first one is the program itself.
    bad=$(grep -E 'execve\(' "$log" | tail -n +2 || true)
    [ -z "$bad" ] || fail "$name starts a program: $bad"
    bad=$(grep -E 'O_CREAT|O_WRONLY|O_RDWR|creat\(|mkdir|rename|link' "$log" |
        grep -vE '/dev/(null|tty)|readlink|/proc/self' || true)
    [ -z "$allowed" ] || bad=$(grep -vF "$allowed" <<<"$bad" || true)
    [ -z "$bad" ] || fail "$name writes: $bad"
    passed=$((passed + 1))
}

torch=$work/traces/torch_0_workers.json.gz
other=$work/traces/torch_4_workers.json.gz
dftracer=$work/traces/dftracer_2_workers
nsight=$work/traces/nsight_2_workers.sqlite
for path in "$torch" "$dftracer" "$nsight"; do
    watched "info $path" "" info "$path"
    watched "report $path" "" report --json "$path"
    watched "check $path" "" check "$path" --max-exposed-wait 5%
    watched "whatif $path" "" whatif "$path"
    watched "why $path" "" why "$path"
done
watched "compare" "" compare "$torch" "$other"
watched "png" "$work/out" png "$torch" -o "$work/out/t.png"
watched "svg" "$work/out" svg "$torch" -o "$work/out/t.svg"
[ -s "$work/out/t.png" ] && [ -s "$work/out/t.svg" ] || fail "pictures were not written"
[ "$(find "$work/out" -type f | wc -l)" -eq 2 ] || fail "something lies beside the pictures"
find "$work/traces" -type f -exec sha256sum {} + | sort >"$work/after"
cmp -s "$work/before" "$work/after" || fail "traces, or what lies beside them, changed"
printf '%d passed, %d failed\n' "$passed" "$failed"
[ "$failed" -eq 0 ]
