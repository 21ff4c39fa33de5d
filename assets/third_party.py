#!/usr/bin/env python3
"""Writes assets/THIRD_PARTY.txt: whose code and fonts are in the program, and under which terms.

    assets/third_party.py            writes the file anew
    assets/third_party.py --check    says whether it is current, and fails where it is not

Asks cargo for what is linked into the program that is shipped (Linux on x86-64), and reads the files with terms that each crate
carries. Equal texts are printed once. Of a crate that may be used under MIT or something else it is MIT that is taken.
"""

import json
import re
import subprocess
import sys
import textwrap
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
OUT = ROOT / "assets" / "THIRD_PARTY.txt"
TARGET = "x86_64-unknown-linux-gnu"
TERMS = re.compile(r"^(un)?licen[cs]e|^copying|^notice|^copyright", re.I)
# Terms of what lies beside the sources, by crate.
BESIDE = {"epaint_default_fonts": ["fonts/*.txt"]}
RULE = "=" * 100


def cargo(*words):
    command = ["cargo", words[0], "--locked", *words[1:]]
    return subprocess.run(command, cwd=ROOT, stdout=subprocess.PIPE, check=True, encoding="utf-8").stdout


def linked():
    """The packages whose code is in the program: what is used only while building, or by tests, is not."""
    words = ["--edges", "normal,no-proc-macro", "--target", TARGET, "--prefix", "none", "--format", "{p}"]
    tree = cargo("tree", *words).splitlines()
    names = {tuple(line.split()[:2]) for line in tree if line.strip()}
    data = json.loads(cargo("metadata", "--format-version", "1", "--filter-platform", TARGET))
    root = data["resolve"]["root"]
    used = [p for p in data["packages"] if (p["name"], f"v{p['version']}") in names and p["id"] != root]
    return sorted(used, key=lambda p: (p["name"], p["version"]))


def read(path):
    lines = path.read_text(encoding="utf-8", errors="replace").splitlines()
    return "\n".join(line.rstrip() for line in lines).strip("\n")


def choices(expression):
    """What one may choose from; a single entry where there is no choice."""
    text = expression.replace("/", " OR ")
    return [text] if " AND " in text else [part.strip() for part in text.split(" OR ")]


def texts(package):
    """The texts of terms that a package carries, of those that are chosen."""
    folder = Path(package["manifest_path"]).parent
    files = sorted(f for f in folder.iterdir() if f.is_file() and TERMS.match(f.name))
    # A folder of texts is named like the files are.
    files += sorted(f for d in folder.iterdir() if d.is_dir() and TERMS.match(d.name) for f in d.iterdir() if f.is_file())
    if package["license_file"] and (folder / package["license_file"]) not in files:
        files.append(folder / package["license_file"])
    options = choices(package["license"] or "")
    if "MIT" in options and len(options) > 1:
        mit = [f for f in files if "MIT" in f.name.upper()]
        rest = [f for f in files if not re.search(r"APACHE|ZLIB|BSD|BSL|UNLICENSE|GPL|0BSD", f.name, re.I)]
        notices = [f for f in files if f.name.upper().startswith(("NOTICE", "COPYRIGHT"))]
        files = (mit or rest) + [f for f in notices if f not in mit + rest]
    for pattern in BESIDE.get(package["name"], []):
        files += sorted(folder.glob(pattern))
    return [(f.relative_to(folder).as_posix(), read(f)) for f in files]


def standard(packages, found):
    """The plain texts of MIT and Apache-2.0, for crates that carry none: as other crates have them."""
    out = {}
    for package in packages:
        for name, text in found[package["id"]]:
            if "MIT" in (package["license"] or "") and text.startswith("Permission is hereby granted"):
                out.setdefault("MIT", text)
            if re.match(r"\s*Apache License\s+Version 2\.0", text) and "APPENDIX" in text:
                out.setdefault("Apache-2.0", text)
    return out


def document():
    packages = linked()
    found = {p["id"]: texts(p) for p in packages}
    plain = standard(packages, found)
    blocks = {}
    for package in packages:
        own = found[package["id"]]
        if not any("fonts/" not in name for name, _ in own):
            options = choices(package["license"] or "")
            first = options[0].strip("()").split(" AND ")[0].split(" OR ")[0].strip("() ")
            chosen = "MIT" if "MIT" in (package["license"] or "") else first
            if chosen not in plain:
                sys.exit(f"third_party.py: {package['name']} carries no text of {package['license']}, and neither does another crate")
            by = ", ".join(package["authors"]) or f"the authors of {package['name']}"
            own = [(chosen, f"Copyright (c) {by}\n\n{plain[chosen]}" if chosen == "MIT" else plain[chosen])] + own
        for name, text in own:
            what = f"{package['name']} {package['version']}"
            if name.startswith("fonts/"):
                what += f", {name}"
            users = blocks.setdefault(" ".join(text.split()), (text, []))[1]
            if what not in users:
                users.append(what)
    lines = [
        "Code and fonts of others in the program",
        "",
        "Stallscope itself is under the terms of the file LICENSE. The program that is shipped also contains what is listed here: the",
        "name of each crate, its version, its terms as it states them; below, the texts of the terms, each with those that it is of.",
        "Of a crate with a choice of terms that includes MIT, MIT is taken. SQLite, in libsqlite3-sys, is in the public domain; the",
        "standard library of Rust is under MIT or Apache-2.0, Copyright (c) The Rust Project Contributors.",
        "Made by assets/third_party.py; do not edit.",
        "",
    ]
    lines += [f"{p['name']} {p['version']}: {p['license'] or 'see below'}" for p in packages]
    for text, users in sorted(blocks.values(), key=lambda b: (-len(b[1]), b[1])):
        lines += ["", RULE, *textwrap.wrap(", ".join(users), 100, break_long_words=False, break_on_hyphens=False), RULE, "", text]
    return "\n".join(lines) + "\n"


def main():
    check = sys.argv[1:] == ["--check"]
    if sys.argv[1:] and not check:
        sys.exit(__doc__)
    text = document()
    if not check:
        OUT.write_text(text, encoding="utf-8")
        print(f"{OUT.relative_to(ROOT)}: {len(text)} characters")
    elif not OUT.exists() or OUT.read_text(encoding="utf-8") != text:
        sys.exit("assets/THIRD_PARTY.txt is not current: run assets/third_party.py")
    else:
        print("assets/THIRD_PARTY.txt is current")


if __name__ == "__main__":
    main()
