#!/usr/bin/env bash
# Makes what people install, into target/package, and tries each of it as they would: the wheel (in clean environments of every
# Python that is there), the Debian package, the list of files of the crate.
#
#     assets/package.sh [--jobs N] [wheel] [deb] [crate]        without names: all; deb takes the program from the wheel
#
# The wheel needs python3 with venv; maturin and zig come from PyPI into an environment of its own. Zig links against a C library
# of 2014, so that the program runs on every Linux since.
set -euo pipefail
cd "$(dirname "$0")/.."

limit=$((15 * 1024 * 1024))
jobs=()
[ "${1:-}" = --jobs ] && { jobs=(--jobs "$2"); shift 2; }
what=("$@")
[ "${#what[@]}" -gt 0 ] || what=(crate wheel deb)
target=$(realpath -m "${CARGO_TARGET_DIR:-target}")
out=$target/package
mkdir -p "$out"
version=$(sed -n 's/^version = "\(.*\)"/\1/p' Cargo.toml | head -1)

step() { printf '\n== %s\n' "$*"; }
fail() { printf 'package.sh: %s\n' "$*" >&2; exit 1; }

the_wheel() {
    local found=("$out"/stallscope-"$version"-*.whl)
    [ -f "${found[0]}" ] || fail "there is no wheel in $out: make it first"
    printf '%s\n' "${found[0]}"
}

wheel() {
    step "wheel"
    [ -x "$out/tools/bin/maturin" ] || python3 -m venv "$out/tools"
    "$out/tools/bin/pip" install --quiet 'maturin>=1.7,<2' ziglang
    rm -f "$out"/stallscope-*.whl
    # Zig is found as a module of the Python that runs maturin.
    PATH=$out/tools/bin:$PATH maturin build --release --locked --strip --zig --compatibility manylinux2014 \
        --out "$out" ${jobs[@]+"${jobs[@]}"}
    local file
    file=$(the_wheel)
    local size
    size=$(stat -c %s "$file")
    printf '%s: %s bytes\n' "${file##*/}" "$size"
    [ "$size" -le "$limit" ] || fail "the wheel is larger than $limit bytes"
    python3 -m zipfile --list "$file" | grep -q 'licenses/.*THIRD_PARTY.txt' || fail "the wheel lacks the notices of others' code"
    try_wheel "$file"
}

try_wheel() {
    local tried=" " python name work
    for python in python3.{9,10,11,12,13,14} "$HOME"/.pyenv/versions/*/bin/python3; do
        python=$(command -v "$python") || continue
        "$python" -c 'import sys, venv; sys.exit(sys.version_info < (3, 9))' 2>/dev/null || continue
        name=$("$python" -c 'import sys; print("%d.%d" % sys.version_info[:2])')
        [[ $tried == *" $name "* ]] && continue
        tried+="$name "
        work=$out/try-$name
        step "Python $name"
        rm -rf "$work"
        "$python" -m venv "$work"
        "$work/bin/pip" install --quiet --no-index "$1"
        env -u DISPLAY -u WAYLAND_DISPLAY "$work/bin/stallscope" demo >"$work/demo.txt"
        grep -q Verdict "$work/demo.txt" || fail "the demo printed no verdict"
        # Away from the tree, so that nothing is imported from it.
        (cd "$work" && env -u STALLSCOPE_PROGRAM bin/python - "$version" <<'PYTHON'
import sys, time, stallscope

assert stallscope.__version__ == sys.argv[1], stallscope.__version__
assert stallscope.program().startswith(sys.prefix), stallscope.program()
with stallscope.record("run", steps=None, profile=False) as rec:
    for n in rec.batches(range(12)):
        with rec.phase("forward"):
            time.sleep(0.002)
        rec.step()
report = stallscope.report("run")
(rank,) = report["ranks"].values()
assert rank["loop"]["n_waits"] == 12, rank["loop"]["n_waits"]
assert "</svg>" in stallscope.show("run")._repr_html_()
PYTHON
        ) >"$work/record.txt"
        cp -r python/tests "$work/tests"
        (cd "$work" && bin/python -m unittest -q tests.test_helper)
        rm -rf "$work"
    done
    [ "$tried" != " " ] || fail "no Python from 3.9 on was found to try the wheel with"
    printf 'the wheel works with Python%s\n' "$tried"
}

deb() {
    step "Debian package"
    local tree=$out/deb arch file
    arch=$(dpkg --print-architecture)
    file=$out/stallscope_${version}_$arch.deb
    rm -rf "$tree"
    mkdir -p "$tree/DEBIAN" "$tree/usr/bin" "$tree/usr/share/doc/stallscope"
    python3 - "$(the_wheel)" "$tree/usr/bin/stallscope" <<'PYTHON'
import sys, zipfile

with zipfile.ZipFile(sys.argv[1]) as wheel:
    (name,) = [n for n in wheel.namelist() if n.endswith(".data/scripts/stallscope")]
    open(sys.argv[2], "wb").write(wheel.read(name))
PYTHON
    chmod 755 "$tree/usr/bin/stallscope"
    install -Dm644 assets/desktop/stallscope.desktop "$tree/usr/share/applications/stallscope.desktop"
    install -Dm644 assets/desktop/stallscope.xml "$tree/usr/share/mime/packages/stallscope.xml"
    install -Dm644 assets/desktop/stallscope.svg "$tree/usr/share/icons/hicolor/scalable/apps/stallscope.svg"
    install -m644 LICENSE "$tree/usr/share/doc/stallscope/copyright"
    install -m644 assets/THIRD_PARTY.txt "$tree/usr/share/doc/stallscope/THIRD_PARTY.txt"
    cat >"$tree/DEBIAN/control" <<CONTROL
Package: stallscope
Version: $version
Architecture: $arch
Maintainer: The Stallscope authors <stallscope@localhost>
Depends: libc6 (>= 2.17)
Recommends: libgl1, libegl1, libxkbcommon-x11-0, libxcursor1, libxi6, libxrandr2
Section: devel
Priority: optional
Installed-Size: $(du -sk "$tree/usr" | cut -f1)
Description: shows what the GPU really waited for in a training trace
 Reads traces of neural-network training (torch.profiler, Nsight Systems,
 DFTracer, tables of spans) into one timeline and says what the GPU waited
 for, why, and who held it up. Has a window and commands.
CONTROL
    dpkg-deb --root-owner-group --build "$tree" "$file" >/dev/null
    rm -rf "$tree" "$out/unpacked"
    dpkg-deb --extract "$file" "$out/unpacked"
    env -u DISPLAY -u WAYLAND_DISPLAY "$out/unpacked/usr/bin/stallscope" demo | grep -q Verdict || fail "the packaged program printed no verdict"
    if command -v desktop-file-validate >/dev/null; then
        desktop-file-validate "$out/unpacked/usr/share/applications/stallscope.desktop"
    else
        echo "desktop-file-validate is not there: the desktop file was not checked"
    fi
    rm -rf "$out/unpacked"
    printf '%s: %s bytes\n' "${file##*/}" "$(stat -c %s "$file")"
}

crate() {
    step "crate"
    local list
    list=$(cargo package --list --allow-dirty)
    for file in Cargo.toml Cargo.lock LICENSE README.md CHANGELOG.md src/main.rs src/lib.rs src/analysis/layers/rules.toml; do
        grep -qxF "$file" <<<"$list" || fail "the crate would lack $file"
    done
    # What the sources include as bytes or text.
    local file
    while read -r file; do
        grep -qxF "$file" <<<"$list" || fail "the crate would lack $file"
    done < <(git ls-files sample_traces)
    ! grep -E '^(assets/.*png|python/|\.ci/|target/)' <<<"$list" || fail "the crate would carry these"
    printf 'the crate has %s files\n' "$(wc -l <<<"$list")"
}

assets/third_party.py --check
for part in "${what[@]}"; do
    case $part in
        wheel | deb | crate) "$part" ;;
        *) fail "unknown part: $part (wheel, deb, crate)" ;;
    esac
done
