"""Runs a case and says what does not hold."""

import csv
import hashlib
import io
import json
import os
import re
import resource
import shutil
import signal
import subprocess
import threading
import time
import xml.etree.ElementTree as tree
from pathlib import Path

# What a run may take, of a processor; by the clock much more, as the machine may be busy.
CPU_SECONDS = 40
SECONDS = 400
MEMORY = 4 << 30
PANIC = re.compile(r"panicked at|RUST_BACKTRACE|overflowed its stack|memory allocation of|internal error|assertion .*failed|unreachable code")
CONTROL = re.compile(r"[\x00-\x09\x0b-\x1f\x7f-\x9f]")
# Commands that say how many threads they use.
THREADED = ("info", "report", "png", "svg", "check", "compare", "whatif", "why", "export")
# What says how fast this run was.
COST = re.compile(r'^(  (time|peak) .*|\s*"(read_seconds|peak_bytes)": .*)$', re.M)


class Run:
    def __init__(self, code, out, err, files):
        self.code, self.out, self.err, self.files = code, out, err, files


def limits():
    resource.setrlimit(resource.RLIMIT_AS, (MEMORY, MEMORY))
    resource.setrlimit(resource.RLIMIT_CPU, (CPU_SECONDS, CPU_SECONDS + 5))
    resource.setrlimit(resource.RLIMIT_CORE, (0, 0))
    resource.setrlimit(resource.RLIMIT_FSIZE, (1 << 30, 1 << 30))


def put(case, folder):
    shutil.rmtree(folder, ignore_errors=True)
    folder.mkdir(parents=True)
    for name, data in case.files:
        path = folder / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes(data)


def hashes(folder):
    found = {}
    for path in sorted(folder.rglob("*")):
        if path.is_file():
            found[str(path.relative_to(folder))] = hashlib.sha256(path.read_bytes()).hexdigest()
    return found


def disturb(case, folder, stop):
    name, wait, what = case.during
    path = folder / name
    if stop.wait(wait / 1000):
        return
    size = path.stat().st_size
    if what == "cut":
        os.truncate(path, size // 2)
    elif what == "empty":
        os.truncate(path, 0)
    elif what == "fill":
        with open(path, "r+b") as f:
            f.seek(size // 3)
            f.write(b"\0" * (size // 3))
    elif what == "grow":
        with open(path, "ab") as f:
            f.write(b'{"ph":"X"}' * 5000)
    elif what == "replace":
        other = path.with_name("other")
        other.write_bytes(b"[]")
        other.rename(path)
    else:
        path.unlink()


def run(program, case, folder, threads):
    put(case, folder)
    before = hashes(folder)
    words = list(case.args)
    if words[0] in THREADED:
        words.insert(1, f"--threads={threads}")
    env = {"PATH": "/usr/bin:/bin", "HOME": str(folder.parent / "home"), "RUST_BACKTRACE": "0"}
    process = subprocess.Popen(
        [program, *words], cwd=folder, env=env, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.PIPE,
        preexec_fn=limits, start_new_session=True,
    )
    stop = threading.Event()
    thread = threading.Thread(target=disturb, args=(case, folder, stop)) if case.during else None
    if thread:
        thread.start()
    try:
        out, err = process.communicate(timeout=SECONDS)
        code = process.returncode
    except subprocess.TimeoutExpired:
        os.killpg(process.pid, signal.SIGKILL)
        out, err = process.communicate()
        code = "timeout"
    stop.set()
    if thread:
        thread.join()
    after = hashes(folder)
    made = {name: (folder / name).read_bytes() for name in after if name not in before}
    changed = [name for name in before if after.get(name) != before[name]]
    result = Run(code, out, err, made)
    return result, [] if case.during else [f"the input {name} was changed" for name in changed]


def text_of(data, what, faults):
    try:
        return data.decode("utf-8")
    except UnicodeDecodeError as error:
        faults.append(f"{what} is no UTF-8: {error}")
        return data.decode("utf-8", "replace")


def number(text):
    raise ValueError(f"{text} is no JSON")


def whole_json(text, what, faults):
    try:
        return json.loads(text, parse_constant=number)
    except ValueError as error:
        faults.append(f"{what} is no JSON: {error}")
        return None


def look(case, r, faults):
    """What must hold of one run."""
    if r.code == "timeout":
        faults.append(f"it took more than {SECONDS} s")
        return
    if r.code in (-signal.SIGXCPU, -signal.SIGKILL):
        faults.append(f"it took more than {CPU_SECONDS} s of a processor")
        return
    if r.code not in (0, 1, 2, 3, 4):
        faults.append(f"it ended with {r.code}")
    words = case.args
    if to_stdout(words):
        # What would be a file is what is printed.
        if r.code == 0:
            form("stdout." + ending(words), r.out, faults)
        out = ""
    else:
        out = text_of(r.out, "stdout", faults)
    err = text_of(r.err, "stderr", faults)
    if PANIC.search(err) or PANIC.search(out):
        faults.append("it panicked")
    if r.code in (1, 2) and not err.strip():
        faults.append(f"it ended with {r.code} and said nothing")
    if CONTROL.search(err):
        faults.append("control characters on stderr")
    help_asked = r.code == 0 and "Usage:" in out
    coloured = "always" in words
    as_json = "--json" in words or words[0] == "schema"
    as_csv = "--csv" in words
    if as_json and out and not help_asked:
        value = whole_json(out, "stdout", faults)
        if value is not None and r.code == 0:
            counted(case, value, faults)
    elif as_csv and out and not help_asked:
        table(out, "stdout", faults)
    elif not coloured and CONTROL.search(out):
        faults.append("control characters on stdout")
    several = "--trim" in words and any(name.startswith("out.") for name in r.files)
    if r.code == 0 and case.output and case.output not in r.files and not several and not help_asked:
        faults.append(f"{case.output} was not written")
    if r.code in (1, 2) and case.output in r.files and words[0] != "ranks":
        faults.append(f"{case.output} was written, and the code is {r.code}")
    for name, data in r.files.items():
        # A window of several files is a file for each; tables are a folder.
        more = "--trim" in words and name.startswith("out.") or "--out" in words and name.startswith("tables/")
        named = name == case.output or (not case.output and name in words) or more
        if not named and not (case.during and name == "other"):
            faults.append(f"{name} was written, which nobody asked for")
            continue
        form(name, data, faults)


def to_stdout(words):
    return any(a == "-o" and b == "-" for a, b in zip(words, words[1:])) and "--help" not in words


def ending(words):
    """What a command writes to stdout where it is asked to."""
    kinds = {"png": "png", "svg": "svg"}
    return kinds.get(words[0], "json" if "--trim" in words else "csv")


def form(name, data, faults):
    if name.endswith(".png") and not (data.startswith(b"\x89PNG\r\n\x1a\n") and data.endswith(b"IEND\xaeB`\x82")):
        faults.append(f"{name} is no PNG")
    elif name.endswith(".svg"):
        try:
            tree.fromstring(data)
        except tree.ParseError as error:
            faults.append(f"{name} is no XML: {error}")
    elif name.endswith(".parquet") and not (data.startswith(b"PAR1") and data.endswith(b"PAR1")):
        faults.append(f"{name} is no Parquet")
    elif name.endswith(".csv"):
        table(text_of(data, name, faults), name, faults)
    elif name.endswith(".json"):
        whole_json(text_of(data, name, faults), name, faults)
    elif name.endswith(".html"):
        if not data.rstrip().endswith(b"</html>"):
            faults.append(f"{name} is no whole page")
        # Names in traces are texts, whatever stands in them.
        if re.search(rb"<script|\x1b|\x00", data):
            faults.append(f"{name} has a script or control characters")


def table(text, what, faults):
    csv.field_size_limit(1 << 30)
    try:
        rows = list(csv.reader(io.StringIO(text, newline=""), strict=True))
    except csv.Error as error:
        faults.append(f"{what} is no CSV: {error}")
        return
    if len({len(row) for row in rows}) > 1:
        faults.append(f"rows of {what} have different numbers of cells")


def counted(case, value, faults):
    """Events that went in are in the timeline, or told as lost."""
    if case.args[0] != "info" or not isinstance(value.get("spans"), int):
        return
    lost = 0
    told = False
    for notice in value["notices"]:
        part = notice.get("lost") or {}
        if part or notice["kind"] in ("skipped", "damaged"):
            told = True
            lost += part["events"] if part.get("events") is not None else notice["count"]
    if case.events < 0:
        return
    if case.exact and value["spans"] + lost != case.events:
        faults.append(f"{case.events} events went in: {value['spans']} are in the timeline and {lost} are told as lost")
    elif value["spans"] < case.events - 1 and not told:
        faults.append(f"{case.events} events went in, {value['spans']} are in the timeline, and nothing is told as lost")
    elif case.exact and value["spans"] > case.events:
        faults.append(f"{case.events} events went in, and {value['spans']} are in the timeline")


def losses(program, case, folder, paths):
    """Notices of a loss that somebody could count; `None` where nothing opens."""
    ask = type(case)(seed=0, files=case.files, args=["info", "--json", *paths])
    told, _ = run(program, ask, folder, 1)
    if told.code != 0:
        return None
    return [n for n in json.loads(told.out)["notices"] if any((n.get("lost") or {}).get(k) for k in ("bytes", "events"))]


def beyond(program, case, r, folder, faults):
    """What must hold of a run together with another one of the same files."""
    words = case.args
    paths = [name.split("/")[0] for name, _ in case.files if name != "rules.toml"]
    if r.code != 0 or not all(p in words for p in paths) or "--help" in words:
        return
    if words[0] == "check" and "--against" not in words and losses(program, case, folder, dict.fromkeys(paths)):
        faults.append("limits hold although something was lost")
    if "--trim" in words and words[words.index("--trim") + 1] == ".." and len(case.files) == 1 and len(r.files) == 1:
        ((name, data),) = r.files.items()
        spans = []
        for files in (case.files, [(name, data)]):
            ask = type(case)(seed=0, files=files, args=["info", "--json", files[0][0]])
            told, _ = run(program, ask, folder, 1)
            if told.code != 0:
                faults.append(f"{files[0][0]} does not open again")
                return
            # Those about the recording itself may lie before all others, and so outside of what is the whole.
            spans.append(json.loads(told.out)["counted_spans"])
        if spans[0] != spans[1]:
            faults.append(f"the whole trace has {spans[0]} spans, and its copy {spans[1]}")


def judge(program, case, folder):
    """Everything that does not hold of a case, and how often the program was run."""
    faults = []
    first, changed = run(program, case, folder, 1)
    faults += changed
    look(case, first, faults)
    if case.during:
        return faults, 1
    beyond(program, case, first, folder, faults)
    second, changed = run(program, case, folder, 2)
    faults += changed
    look(case, second, faults)
    same = lambda data: COST.sub("", data.decode("utf-8", "replace"))
    for what, a, b in (("code", first.code, second.code), ("stdout", same(first.out), same(second.out)), ("stderr", same(first.err), same(second.err)), ("files", first.files, second.files)):
        if a != b:
            faults.append(f"the {what} differs between one thread and two")
    return sorted(set(faults)), 2
