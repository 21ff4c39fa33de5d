#!/usr/bin/env bash
# Reports to send in a real browser: parsed without an error, nothing refused by their own policy, dark where the system
# is, on A4 sheets. Needs chromium, python3 and its html5lib.
#
#   tests/html/run.sh [PROGRAM] [FOLDER]     default: the debug build, built if need be; pictures stay in FOLDER
set -euo pipefail
cd "$(dirname "$0")/../.."

program=${1:-}
if [ -z "$program" ]; then
    cargo build --locked --quiet
    program=${CARGO_TARGET_DIR:-target}/debug/stallscope
fi
work=$(mktemp -d "${TMPDIR:-/tmp}/stallscope-html.XXXXXX")
trap 'rm -rf "$work"' EXIT
kept=${2:-$work}
mkdir -p "$kept"

fail() {
    printf 'html test: %s\n' "$*" >&2
    exit 1
}

browser() {
    timeout 120 chromium --headless --no-sandbox --disable-gpu --hide-scrollbars --no-first-run \
        --user-data-dir="$work/profile" --enable-logging=stderr --window-size=1280,2400 "$@" 2>>"$work/log"
}

samples=sample_traces
"$program" report "$samples/torch_4_workers.json.gz" --html "$work/one.html" 2>/dev/null
"$program" report "$samples/torch_0_workers.json.gz" --before "$samples/torch_4_workers.json.gz" \
    --html "$work/two.html" 2>/dev/null

for page in one two; do
    url=file://$work/$page.html
    browser --screenshot="$kept/$page-light.png" "$url" >/dev/null
    browser --force-dark-mode --screenshot="$kept/$page-dark.png" "$url" >/dev/null
    browser --no-pdf-header-footer --print-to-pdf="$kept/$page.pdf" "$url" >/dev/null
    browser --dump-dom "$url" >"$work/$page.dom"
    grep -q '<h2>How this was made</h2>' "$work/$page.dom" || fail "$page.html is not whole in the browser"
done
# What a policy refuses, and what a page complains about, is told on the console.
if grep -E 'CONSOLE|Refused to' "$work/log" >&2; then
    fail "the browser complains"
fi

# That of the system: packages are installed for it.
/usr/bin/python3 - "$work" "$kept" <<'PYTHON'
import re, struct, sys, zlib
import html5lib

work, kept = sys.argv[1:]
for page in ("one", "two"):
    text = open(f"{work}/{page}.html", encoding="utf-8").read()
    html5lib.HTMLParser(strict=True).parse(text)
    corners = []
    for theme in ("light", "dark"):
        png = open(f"{kept}/{page}-{theme}.png", "rb").read()
        width, height = struct.unpack(">II", png[16:24])
        assert (width, height) == (1280, 2400), (width, height)
        # A page that shows nothing packs to a few kilobytes.
        assert len(png) > 60_000, f"{page}-{theme}.png: {len(png)} bytes"
        data, at = b"", 8
        while at < len(png):
            (size,), kind = struct.unpack(">I", png[at:at + 4]), png[at + 4:at + 8]
            data += png[at + 8:at + 8 + size] if kind == b"IDAT" else b""
            at += size + 12
        # The first pixel has no neighbour that a filter could refer to.
        corners.append(sum(zlib.decompressobj().decompress(data, 16)[1:4]))
    light, dark = corners
    assert light > 600 and dark < 150, f"{page}: {light} and {dark} in the corner"
    pdf = open(f"{kept}/{page}.pdf", "rb").read()
    sheets = set(re.findall(rb"/MediaBox \[([^\]]*)\]", pdf))
    sizes = [[round(float(n)) for n in sheet.split()] for sheet in sheets]
    assert sizes and all(size in ([0, 0, 595, 842], [0, 0, 596, 842]) for size in sizes), sizes
PYTHON
printf 'html test: done\n'
