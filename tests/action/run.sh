#!/usr/bin/env bash
# Runs the action's script (assets/action.sh) as a build server would, with the program that is built; installing is left out.
set -euo pipefail
cd "$(dirname "$0")/../.."
program=$(realpath "${CARGO_TARGET_DIR:-target}/debug/stallscope")
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
sample=$PWD/sample_traces/torch_0_workers.json.gz

fail() { printf 'action: %s\n' "$*" >&2; cat "$work"/{out,err,summary} >&2 || true; exit 1; }

# run CODE VARIABLE=VALUE…: the action must end with that code, and say it as its output too.
run() {
    local wanted=$1 code=0
    shift
    rm -f "$work"/{summary,output,out,err}
    touch "$work"/{summary,output}
    (cd "$work" && env -i PATH="$PATH" HOME="$HOME" GITHUB_STEP_SUMMARY="$work/summary" GITHUB_OUTPUT="$work/output" \
        STALLSCOPE_PROGRAM="$program" "$@" "$OLDPWD/assets/action.sh" check >"$work/out" 2>"$work/err") || code=$?
    [ "$code" -eq "$wanted" ] || fail "$* ended with $code instead of $wanted"
    grep -qx "exit-code=$wanted" "$work/output" || fail "the output exit-code is not $wanted"
}
has() { grep -qF -- "$2" "$work/$1" || fail "\`$2\` is missing in $1"; }
lacks() { ! grep -qF -- "$2" "$work/$1" || fail "\`$2\` is in $1"; }

# A limit that does not hold: the code of check, the table, the report, the picture.
run 3 STALLSCOPE_PATHS="$sample" STALLSCOPE_LIMITS="--max-exposed-wait 5%" STALLSCOPE_PICTURE=timeline.png
has out "DOES NOT HOLD"
has summary "## Stallscope: A limit does not hold."
has summary "DOES NOT HOLD"
has summary "### torch\\_0\\_workers.json.gz"
has output "picture=timeline.png"
[ "$(head -c 4 "$work/timeline.png" | tail -c 3)" = PNG ] || fail "the picture is no PNG"

# One that holds; a picture as SVG, and none.
run 0 STALLSCOPE_PATHS="$sample" STALLSCOPE_LIMITS=$'--max-exposed-wait\n99%' STALLSCOPE_PICTURE=a.svg
has summary "## Stallscope: Every limit holds."
grep -q "<svg" "$work/a.svg" || fail "the picture is no SVG"
run 0 STALLSCOPE_PATHS="$sample" STALLSCOPE_LIMITS="--max-exposed-wait 99%"
lacks output "picture="

# Names with blanks, patterns, a saved report to compare with.
mkdir "$work/two words"
cp "$sample" "$work/two words/run.json.gz"
"$program" report --json "$PWD/sample_traces/torch_4_workers.json.gz" >"$work/good.json"
run 4 STALLSCOPE_PATHS=$'\n  two words/*.gz\n' STALLSCOPE_AGAINST="good.json" STALLSCOPE_LIMITS="--allow-other-program"
has out "slowdown of the steps"

# What cannot be told, cannot be read, and is wrong; nothing of it ends the summary.
run 4 STALLSCOPE_PATHS="$PWD/sample_traces/dftracer_2_workers" STALLSCOPE_LIMITS="--max-exposed-wait 5%"
has summary "cannot be told"
run 1 STALLSCOPE_PATHS="nowhere.json" STALLSCOPE_LIMITS="--max-exposed-wait 5%" STALLSCOPE_PICTURE=b.png
has summary "could not be read"
has err "::warning title=Stallscope::there is no picture"
[ ! -e "$work/b.png" ] || fail "a picture of nothing"
run 2 STALLSCOPE_PATHS="$sample"
run 2 STALLSCOPE_PATHS=" "
# Neither a name nor a limit asks for help, which would end with 0.
run 1 STALLSCOPE_PATHS="--help" STALLSCOPE_LIMITS="--max-exposed-wait 5%"
run 2 STALLSCOPE_PATHS="$sample" STALLSCOPE_LIMITS="--help"

# Names in traces are neither commands to the runner nor marks in the summary.
printf 'start_us,dur_us,name\n1,2,a\n' >"$work/::set-output name=x::y<b>.csv"
run 4 STALLSCOPE_PATHS="$work/::set-output*" STALLSCOPE_LIMITS="--max-exposed-wait 5%"
lacks summary "<b>"
word=$(sed -n 's/^::stop-commands::\(.*\)/\1/p' "$work/out")
[ -n "$word" ] && grep -qx "::$word::" "$work/out" || fail "commands are not stopped and heard again"

# Every input of the action reaches the script, and every variable of the script is an input.
inputs=$(sed -n '/^inputs:/,/^outputs:/s/^  \([a-z-]*\):$/\1/p' action.yml)
[ -n "$inputs" ] || fail "action.yml has no inputs"
for input in $inputs; do
    grep -q "STALLSCOPE_$(tr 'a-z' 'A-Z' <<<"$input")" assets/action.sh || fail "the input $input does not reach the script"
done
for name in $(grep -o 'STALLSCOPE_[A-Z]*' assets/action.sh | sort -u); do
    input=$(tr 'A-Z' 'a-z' <<<"${name#STALLSCOPE_}")
    grep -qxF "        $name: \${{ inputs.$input }}" action.yml || fail "$name is not passed by action.yml"
    grep -qxF "  $input:" action.yml || fail "action.yml has no input $input"
done
echo "the action works"
