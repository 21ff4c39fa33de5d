"""The spans of one process, as lines that readers of DFTracer's files know. Standard library only.

A file is whole after each write: behind the last span stands an `end` record, which the next write replaces.
"""

from __future__ import annotations

import gc
import os
import socket
import sys
import threading
import time
import warnings
from json.encoder import encode_basestring_ascii as quoted

now = time.perf_counter_ns

# Collections below this are counted, not written, ns.
SHORT_COLLECTION = 100_000

_SPAN = '{"id":%d,%s%d,"dur":%d,"ph":1,"args":{%s}}\n'

# The spans of this process while it is recorded.
current: Spans | None = None


def wall_minus_now() -> int:
    """What to add to `now` for Unix time, ns: of several readings that with the least between its two looks at `now`."""
    readings = []
    for _ in range(9):
        before = now()
        wall = time.time_ns()
        after = now()
        readings.append((after - before, wall - (before + after) // 2))
    return min(readings)[1]


def text(value: object) -> str:
    """A JSON text; bytes of file names that are no UTF-8 are replaced."""
    return quoted(str(value).encode("utf-8", "surrogateescape").decode("utf-8", "replace"))


class Spans:
    """Collects spans and writes them. `pending` takes `(kind, start, end, args)`: from `kind`, from `now`, JSON members."""

    def __init__(self, path: str, about: tuple[int, int | None, int, str, str], worker: int | None = None):
        """`about`: what to add to `now` for Unix time, rank, parent process, name of the process, version of this package."""
        self.path = path
        offset, rank, parent, name, version = about
        self.offset = offset
        self.worker = worker
        self.pid = os.getpid()
        self.tid = threading.get_native_id()
        self.pending: list[tuple[str, int, int, str]] = []
        self.failed: OSError | None = None
        # A batch is being made: the numbers of its iterator and its own; these and who makes it as members of args.
        self.loading = False
        self.task = (0, 0)
        self.batch = ""
        # The thread that is inside an item: its reads are recorded.
        self.reader: int | None = None
        self._kinds: dict[tuple[str, str, int | None], str] = {}
        self._lock = threading.Lock()
        self._id = 0
        self._at = 0
        self._collections = Collections(self)
        host = socket.gethostname()
        # A number for the host's name, that references to it could use.
        key = f"{hash_of(host):016x}"
        own = self._own = f'"cat":"dftracer","type":1,"pid":{self.pid},"tid":{self.tid}'

        def meta(record: str, what: object, value: object) -> str:
            return f'{{"name":"{record}",{own},"ph":4,"args":{{"hhash":"{key}","name":{text(what)},"value":{text(value)}}}}}\n'

        self._meta = meta
        head = [meta("HH", host, key), meta("CM", "time_metric", "NS"), self._clock_pair()]
        head.append(meta("process_name", name, "process_name"))
        if rank is not None:
            head.append(meta("PR", "rank", rank))
        version = text(f"stallscope.record {version}")
        args = f'"hhash":"{key}","ppid":{parent},"version":{version},"cwd":{text(os.getcwd())}'
        head.append(f'{{"id":0,"name":"start",{own},"ts":{now() + offset},"dur":0,"ph":1,"args":{{{args}}}}}\n')
        # Not buffered: what a delivered batch left is in the file, whatever happens to the process.
        self._file = open(path, "xb", buffering=0)
        self._write("".join(head))

    def kind(self, name: str, cat: str, tid: int | None = None) -> str:
        """What spans of one name, category and thread have in common."""
        found = self._kinds.get((name, cat, tid))
        if found is None:
            thread = self.tid if tid is None else tid
            about = f'"name":{text(name)},"cat":{text(cat)},"type":6,"pid":{self.pid},"tid":{thread},"ts":'
            found = self._kinds[name, cat, tid] = about
        return found

    def _clock_pair(self) -> str:
        """What the clocks show at one moment: `now`, and the wall clock."""
        at = now()
        return self._meta("CM", "clock_pair", f"{at} {at + wall_minus_now()}")

    def begin(self, iterator: int, batch: int) -> None:
        """Loading of a batch begins."""
        self.task = (iterator, batch)
        self.batch = f'"batch":{batch},"iterator":{iterator}'
        if self.worker is not None:
            self.batch += f',"worker":{self.worker}'
        self.loading = True

    def flush(self) -> None:
        """Writes what is pending. Other threads, and collections, may add to it meanwhile."""
        pending, offset = self.pending, self.offset
        with self._lock:
            rows = pending[:]
            if not rows:
                return
            del pending[: len(rows)]
            first = self._id + 1
            self._id += len(rows)
            lines = [
                _SPAN % (number, kind, start + offset, end - start, args)
                for number, (kind, start, end, args) in enumerate(rows, first)
            ]
            self._write("".join(lines))

    def _write(self, lines: str) -> None:
        if self.failed is not None:
            return
        counts = self._collections
        end = (
            f'{{"id":{self._id + 1},"name":"end",{self._own},"ts":{now() + self.offset},"dur":0,"ph":1,"args":{{'
            f'"num_events":{self._id + 1},"short_collections":{counts.short},"short_collections_ns":{counts.short_ns}}}}}\n'
        )
        data = lines.encode()
        try:
            self._file.seek(self._at)
            whole = memoryview(data + end.encode())
            while whole:
                whole = whole[self._file.write(whole) :]
            self._at += len(data)
        except OSError as error:
            self.failed = error
            warnings.warn(f"stallscope: {self.path} cannot be written any further: {error}", RuntimeWarning, stacklevel=2)

    def abandon(self) -> None:
        """In a forked child: the file is the parent's, and what it had pending too."""
        self.failed = OSError("the file is that of the parent process")
        self._lock = threading.Lock()
        self.pending = []
        self.loading = False
        self.reader = None

    def watch_collections(self) -> None:
        """Records the garbage collector from now on."""
        gc.callbacks.append(self._collections)

    def close(self) -> None:
        """Writes the rest. Nothing is recorded afterwards."""
        if self._collections in gc.callbacks:
            gc.callbacks.remove(self._collections)
        self.loading = False
        self.reader = None
        self.flush()
        if not self._file.closed:
            self._write(self._clock_pair())
            self._file.close()


class Collections:
    """A callback of the garbage collector."""

    def __init__(self, spans: Spans):
        self._spans = spans
        self._start: int | None = None
        self.short = 0
        self.short_ns = 0

    def __call__(self, phase: str, info: dict) -> None:
        if phase == "start":
            self._start = now()
            return
        end = now()
        start, self._start = self._start, None
        if start is None:
            return
        if end - start < SHORT_COLLECTION:
            self.short += 1
            self.short_ns += end - start
            return
        spans = self._spans
        kind = spans.kind("python.gc", "gc", threading.get_native_id())
        args = f'"generation":{info["generation"]},"collected":{info["collected"]}'
        spans.pending.append((kind, start, end, args))


def hash_of(value: str) -> int:
    """64 bits of a text, the same in every process."""
    state = 0xCBF29CE484222325
    for byte in value.encode("utf-8", "replace"):
        state = (state ^ byte) * 0x100000001B3 % 2**64
    return state


def begin_recording(spans: Spans) -> None:
    """Makes these the spans of this process."""
    global current
    current = spans


def end_recording() -> None:
    """This process is no longer recorded."""
    global current
    current = None


def _forget_parent() -> None:
    """In a forked child, which may go on with objects of the parent's recording: nothing of it is written twice."""
    global current
    if current is not None:
        current.abandon()
    current = None
    gc.callbacks[:] = [c for c in gc.callbacks if not isinstance(c, Collections)]


if hasattr(os, "register_at_fork"):
    os.register_at_fork(after_in_child=_forget_parent)


def program_name() -> str:
    """What the running program is called."""
    return os.path.basename(sys.argv[0]) if sys.argv and sys.argv[0] else "python"
