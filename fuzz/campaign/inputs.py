"""Small inputs of every format, made from the bundled samples and by hand: the same bytes on every run."""

import gzip
import io
import json
import sqlite3
import tarfile
import tempfile
import zipfile
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
SAMPLES = ROOT / "sample_traces"
# Events of a trace that is cut from a sample.
EVENTS = 260


def packed(data):
    """Gzip without the time of day."""
    return gzip.compress(data, compresslevel=6, mtime=0)


def json_bytes(value):
    return json.dumps(value, separators=(",", ":")).encode()


def torch(sample, rank=None):
    """The first events of a sample, with their GPU work, as one file."""
    whole = json.loads(gzip.decompress((SAMPLES / sample).read_bytes()))
    events = whole["traceEvents"]
    meta = [e for e in events if e.get("ph") == "M"]
    timed = sorted((e for e in events if "ts" in e and e.get("ph") != "M"), key=lambda e: float(e["ts"]))
    whole["traceEvents"] = meta[:20] + timed[:EVENTS]
    if rank is not None:
        whole["distributedInfo"] = {"rank": rank, "world_size": 2, "backend": "nccl"}
    return json_bytes(whole)


def plain_chrome(n, first=1_000):
    """`n` complete events of one thread, one after the other."""
    events = [
        {"ph": "X", "cat": "cpu_op", "name": f"op{i % 7}", "pid": 1, "tid": 1, "ts": first + 10 * i, "dur": 6}
        for i in range(n)
    ]
    return b"[\n" + b",\n".join(json_bytes(e) for e in events) + b"\n]\n"


def plain_lines(n, first=1_700_000_000_000_000, pid=7):
    """`n` events as DFTracer writes them, a line each."""
    out = []
    for i in range(n):
        out.append(
            json_bytes(
                {
                    "id": i, "name": "read" if i % 3 else "open", "cat": "POSIX", "pid": pid, "tid": pid,
                    "ts": first + 20 * i, "dur": 9, "ph": "X", "args": {"hhash": "h", "ret": 512},
                }
            )
        )
    return b"[\n" + b"\n".join(out) + b"\n"


def plain_table(n):
    """`n` spans as a table."""
    rows = [f"{10 * i},{6 + i % 3},name {i % 5},lane {i % 2}" for i in range(n)]
    return ("start_us,dur_us,name,lane\n" + "\n".join(rows) + "\n").encode()


def recorded(pid, workers=0, parent=1):
    """A file of the recording helper: a loop of eight steps, or a worker that makes its batches."""
    zero = 1_796_140_003_151_000_000

    def meta(name, what, value):
        return {"name": what, "cat": "dftracer", "type": 1, "pid": pid, "tid": pid, "ph": 4, "args": {"hhash": "08cf", "name": name, "value": value}}

    lines = [
        meta("vm", "HH", "08cf"),
        meta("time_metric", "CM", "NS"),
        meta("clock_pair", "CM", f"12967964569819 {zero}"),
        meta("train.py", "process_name", "process_name"),
    ]

    def span(name, cat, start, dur, **args):
        lines.append(
            {"id": len(lines), "name": name, "cat": cat, "type": 6, "pid": pid, "tid": pid, "ts": zero + start, "dur": dur, "ph": 1, "args": args}
        )

    lines.append(
        {
            "id": 0, "name": "start", "cat": "dftracer", "type": 1, "pid": pid, "tid": pid, "ts": zero, "dur": 0, "ph": 1,
            "args": {"hhash": "08cf", "ppid": parent, "version": "stallscope.record 0", "cwd": "/tmp"},
        }
    )
    for i in range(8):
        at = 5_000_000 * i + 100_000
        if parent == 1:
            span("fetch.iter", "dataloader", at, 2_000_000 + 1000 * i, count=i + 1)
            span("forward", "user_annotation", at + 2_100_000, 2_000_000)
            span(f"step {i}", "user_annotation", at, 4_800_000)
        else:
            span("fetch", "dataloader", at - 90_000, 1_800_000, batch=i, it=0)
            span("open", "POSIX", at, 20_000, fname=f"/data/{i}.bin", ret=3)
            span("read", "POSIX", at + 30_000, 900_000, fname=f"/data/{i}.bin", ret=4096)
    return b"[\n" + b"\n".join(json_bytes(line) for line in lines) + b"\n"


def database(rows=400):
    """The Nsight sample with few rows and small pages: many pages in few bytes."""
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "small.sqlite"
        path.write_bytes((SAMPLES / "nsight_2_workers.sqlite").read_bytes())
        db = sqlite3.connect(path, isolation_level=None)
        tables = [r[0] for r in db.execute("SELECT name FROM sqlite_master WHERE type='table'")]
        for table in tables:
            if table.startswith(("CUPTI", "NVTX", "OSRT", "SCHED", "COMPOSITE")):
                db.execute(f'DELETE FROM "{table}" WHERE rowid > (SELECT min(rowid) + {rows} FROM "{table}")')
        db.execute("PRAGMA page_size=1024")
        db.execute("VACUUM")
        db.close()
        return path.read_bytes()


def tar_of(members):
    out = io.BytesIO()
    with tarfile.open(fileobj=out, mode="w") as tar:
        for name, data in members:
            info = tarfile.TarInfo(name)
            info.size = len(data)
            tar.addfile(info, io.BytesIO(data))
    return out.getvalue()


def zip_of(members, method=zipfile.ZIP_DEFLATED):
    out = io.BytesIO()
    with zipfile.ZipFile(out, "w", method) as archive:
        for name, data in members:
            archive.writestr(zipfile.ZipInfo(name), data, compress_type=method)
    return out.getvalue()


RULES = b"""format = 1
[[rule]]
id = "mine"
source = ["torch", "dftracer"]
lane = "cpu"
name = '''^(?:read|open|op[0-3])$'''
layer = "io.mine"
[[rule]]
id = "fetch"
name = "^fetch.*"
layer = "fetch"
set = { phase = "fetch" }
"""

SESSION = b"""{
  "stallscope_session": 1,
  "files": [{ "path": "a.json", "key": "0-0" }],
  "before": [],
  "loops": ["C1.1"],
  "look": { "view": [0, 900000], "range": [100, 5000], "tab": "Waits", "pinned": ["x"], "hidden": [], "toggled": [] }
}
"""


class Inputs:
    """All of them, each made when it is first asked for."""

    def __init__(self):
        self._made = {}
        self._makers = {
            "torch0": lambda: (ROOT / "fuzz/support/small.json").read_bytes(),
            "torch4": lambda: torch("torch_4_workers.json.gz"),
            "rank0": lambda: torch("torch_4_workers.json.gz", 0),
            "rank1": lambda: torch("torch_4_workers.json.gz", 1),
            "real": lambda: torch("torch_real_rank1.json.gz"),
            "chrome": lambda: plain_chrome(60),
            "lines": lambda: plain_lines(60),
            "table": lambda: plain_table(60),
            "sqlite": database,
            "loop": lambda: recorded(500),
            "worker": lambda: recorded(501, parent=500),
            "rules": lambda: RULES,
            "session": lambda: SESSION,
            "torch.gz": lambda: packed(self["torch0"]),
            "lines.gz": lambda: packed(plain_lines(20)) + packed(plain_lines(20, 1_700_000_000_001_000)),
            "tar": lambda: tar_of([("run/a.json", self["chrome"]), ("run/b.pfw", self["lines"])]),
            "zip": lambda: zip_of([("run/a.json", self["chrome"]), ("b.json.gz", packed(self["torch4"]))]),
        }

    def add(self, name, data):
        """Adds what is made elsewhere."""
        self._made[name] = data

    def __getitem__(self, name):
        if name not in self._made:
            self._made[name] = self._makers[name]()
        return self._made[name]


# What a file of an input is called; content decides, so that some names are wrong on purpose.
NAMES = {
    "torch0": "a.json", "torch4": "a.json", "rank0": "r0.json", "rank1": "r1.json", "real": "a.json", "chrome": "a.json",
    "lines": "a.pfw", "table": "a.csv", "sqlite": "a.sqlite", "loop": "spans-500-app.pfw", "worker": "spans-501-worker.pfw",
    "rules": "rules.toml", "session": "a.session.json", "torch.gz": "a.json.gz", "lines.gz": "a.pfw.gz", "tar": "a.tar",
    "zip": "a.zip",
}
TRACES = [
    "torch0", "torch4", "rank0", "rank1", "real", "chrome", "lines", "table", "sqlite", "loop", "worker", "torch.gz",
    "lines.gz", "tar", "zip",
]
