#!/usr/bin/env bash
# The steps of action.yml: `install` builds the program from this checkout; `check` checks a recording, draws it and writes a
# summary, and ends as `stallscope check` does. Inputs are the variables that action.yml names; the job's summary and outputs
# are files, $GITHUB_STEP_SUMMARY and $GITHUB_OUTPUT. Works without them too, on any build server.
set -euo pipefail
here=$(cd "$(dirname "$0")/.." && pwd)
# A place of this user alone: what lies there is run.
root=${RUNNER_TEMP:-${XDG_CACHE_HOME:-$HOME/.cache}}/stallscope-action

install() {
    command -v cargo >/dev/null || {
        echo "action.sh: there is no cargo: install Rust first, or name a built program as the input \`program\`" >&2
        exit 1
    }
    # Without the window: nothing of a desktop is needed to build.
    cargo install --quiet --locked --path "$here" --no-default-features --features png --root "$root"
}

# A warning in the log and beside the commit.
warn() { printf '::warning title=Stallscope::%s\n' "$1"; }

output() { [ -z "${GITHUB_OUTPUT:-}" ] || printf '%s=%s\n' "$1" "$2" >>"$GITHUB_OUTPUT"; }

# A name that no program takes for an option.
named() { case $1 in -*) printf './%s' "$1" ;; *) printf '%s' "$1" ;; esac; }

# The lines of $1 that are not empty, into `lines`; with `fill`, patterns become the files that they fit.
lines=()
read_lines() {
    local line found
    lines=()
    while IFS= read -r line; do
        # Blanks around a name are those of YAML.
        line=${line#"${line%%[![:space:]]*}"}
        line=${line%"${line##*[![:space:]]}"}
        [ -n "$line" ] || continue
        if [ "${2:-}" = fill ] && [ ! -e "$line" ] && found=$(compgen -G "$line"); then
            while IFS= read -r line; do lines+=("$(named "$line")"); done < <(sort <<<"$found")
        else
            lines+=("$(named "$line")")
        fi
    done <<<"$1"
}

escaped() { sed 's/&/\&amp;/g; s/</\&lt;/g; s/>/\&gt;/g'; }

check() {
    local program=${STALLSCOPE_PROGRAM:-$root/bin/stallscope}
    local paths against=() rules=() limits=() work code=0 pause
    read_lines "${STALLSCOPE_PATHS:-}" fill
    paths=(${lines[@]+"${lines[@]}"})
    [ "${#paths[@]}" -gt 0 ] || { echo "action.sh: the input \`paths\` names nothing" >&2; output exit-code 2; exit 2; }
    read_lines "${STALLSCOPE_AGAINST:-}" fill
    [ "${#lines[@]}" -eq 0 ] || against=(--against "${lines[@]}")
    [ -z "${STALLSCOPE_RULES:-}" ] || rules=(--rules "$STALLSCOPE_RULES")
    # Words, and no patterns: `*` in a limit is no file.
    IFS=$' \t\n' read -r -d '' -a limits < <(printf '%s\0' "${STALLSCOPE_LIMITS:-}") || true
    local limit
    for limit in ${limits[@]+"${limits[@]}"}; do
        case $limit in
            -h | --help | -V | --version) echo "action.sh: \`$limit\` is no limit" >&2; output exit-code 2; exit 2 ;;
        esac
    done
    work=$(mktemp -d)
    trap 'rm -rf "$work"' EXIT
    # Names in traces may look like commands to the runner: none is heard until the word is said again.
    pause=$(head -c 18 /dev/urandom | base64 | tr -d '+/=')
    printf '::stop-commands::%s\n' "$pause"
    "$program" check "${paths[@]}" ${rules[@]+"${rules[@]}"} ${limits[@]+"${limits[@]}"} ${against[@]+"${against[@]}"} \
        >"$work/check.txt" 2>"$work/check.err" || code=$?
    # Both where commands are not heard; in what order a server reads two streams is not known.
    cat "$work/check.txt" "$work/check.err"
    printf '\n::%s::\n' "$pause"
    output exit-code "$code"
    summary "$code" >>"${GITHUB_STEP_SUMMARY:-/dev/null}"
    picture
    exit "$code"
}

# What the exit code means, the limits, and the report as Markdown.
summary() {
    local said=(
        "Every limit holds."
        "Something could not be read."
        "The action was not called as it should be."
        "A limit does not hold."
        "It cannot be told whether every limit holds."
    )
    printf '## Stallscope: %s\n\n' "${said[$1]:-the program ended with $1.}"
    if [ -s "$work/check.txt" ]; then
        printf '<pre>\n%s\n</pre>\n\n' "$(escaped <"$work/check.txt")"
    fi
    if [ -s "$work/check.err" ]; then
        printf '<pre>\n%s\n</pre>\n\n' "$(head -n 20 "$work/check.err" | escaped)"
    fi
    "$program" report --markdown "${paths[@]}" ${rules[@]+"${rules[@]}"} 2>"$work/report.err" || {
        warn "the summary has no report: $(head -n 1 "$work/report.err" | tr -d '\r')" >&2
    }
}

picture() {
    local file=${STALLSCOPE_PICTURE:-} form=png
    [ -n "$file" ] || return 0
    [[ $file != *.svg ]] || form=svg
    if "$program" "$form" "${paths[@]}" ${rules[@]+"${rules[@]}"} -o "$file" >/dev/null 2>"$work/picture.err"; then
        output picture "$file"
    else
        warn "there is no picture: $(head -n 1 "$work/picture.err" | tr -d '\r')" >&2
    fi
}

case ${1:-} in
    install | check) "$1" ;;
    *) echo "usage: action.sh install|check" >&2; exit 2 ;;
esac
