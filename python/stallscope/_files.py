"""Files that are read through `open` while an item is loaded: each call that reads becomes a span.

`open` then makes the same objects as always, on a raw file whose reads are timed. What reads by other ways (a library's own
code in C, `os.read`, a mapped file) is not seen; where it uses a file that `open` opened, the time between the calls is.
"""

from __future__ import annotations

import builtins
import io
import os
import threading

from . import _spans
from ._spans import now, text

_plain_open = io.open
_READING = {"r", "rt", "rb"}


class _Timed(io.FileIO):
    """A raw file that records its reads."""

    def readinto(self, buffer):
        spans = _spans.current
        if spans is None or spans.reader != threading.get_ident():
            return super().readinto(buffer)
        start = now()
        got = super().readinto(buffer)
        spans.pending.append((spans.kind("read", "POSIX"), start, now(), f"{_name(self)},\"ret\":{got or 0}"))
        return got

    def readall(self):
        spans = _spans.current
        if spans is None or spans.reader != threading.get_ident():
            return super().readall()
        start = now()
        got = super().readall()
        spans.pending.append((spans.kind("read", "POSIX"), start, now(), f"{_name(self)},\"ret\":{len(got or b'')}"))
        return got

    def close(self):
        spans = _spans.current
        if self.closed or spans is None or spans.reader != threading.get_ident():
            return super().close()
        start = now()
        try:
            return super().close()
        finally:
            spans.pending.append((spans.kind("close", "POSIX"), start, now(), _name(self)))


def _name(raw: _Timed) -> str:
    """The file as a member of args, worked out once."""
    found = raw.__dict__.get("_stallscope")
    if found is None:
        path = os.fsdecode(raw.name)
        found = raw._stallscope = f'"fname":{text(path if os.path.isabs(path) else os.path.abspath(path))}'
    return found


def _open(file, mode="r", buffering=-1, encoding=None, errors=None, newline=None, closefd=True, opener=None):
    spans = _spans.current
    if (
        spans is None
        or spans.reader != threading.get_ident()
        or mode not in _READING
        or not isinstance(file, (str, bytes, os.PathLike))
        or not closefd
        or opener is not None
        or buffering in (0, 1)
        or ("b" in mode and not encoding is errors is newline is None)
    ):
        return _plain_open(file, mode, buffering, encoding, errors, newline, closefd, opener)
    start = now()
    raw = _Timed(os.fspath(file), "r")
    spans.pending.append((spans.kind("open", "POSIX"), start, now(), _name(raw)))
    try:
        size = buffering
        if size < 0:
            size = max(getattr(raw, "_blksize", 0), io.DEFAULT_BUFFER_SIZE)
        buffer = io.BufferedReader(raw, size)
        if "b" in mode:
            return buffer
        if hasattr(io, "text_encoding"):
            encoding = io.text_encoding(encoding)
        out = io.TextIOWrapper(buffer, encoding, errors, newline)
        out.mode = mode
        return out
    except BaseException:
        raw.close()
        raise


def install() -> None:
    """Makes `open` record, where an item is loaded."""
    builtins.open = io.open = _open


def uninstall() -> None:
    """Gives `open` back."""
    if builtins.open is _open:
        builtins.open = _plain_open
    if io.open is _open:
        io.open = _plain_open
