"""What is put around a loader's data set, transforms and collate function, so that workers record themselves.

The number of a batch travels with its indices: the sampler's output is sent as a `Task`, which becomes the plain indices
again, and says which batch begins, where a worker receives it. It travels back with the batch as `Made`. Nothing is
guessed from an order. Standard library only.
"""

from __future__ import annotations

import functools
import os
import re
import sys
import threading
import warnings

from . import _files, _spans
from ._spans import Spans, now, text

_ident = threading.get_ident

ITEM = ("item", "data")
COLLATE = ("preprocess.collate", "data")


class Place:
    """Where a process writes, and on which clock. Sent to workers."""

    def __init__(self, folder: str, rank: int | None, offset: int, version: str):
        self.folder = folder
        self.version = version
        self.rank = rank
        self.offset = offset
        self.parent = os.getpid()

    def path(self, role: str) -> str:
        """The file of this process."""
        of = "" if self.rank is None else f"-rank{self.rank}"
        return os.path.join(self.folder, f"spans{of}-{os.getpid()}-{role}.pfw")

    def open(self, role: str, name: str, parent: int, offset: int, worker: int | None = None) -> Spans:
        """The spans of this process, in a file of their own."""
        return Spans(self.path(role), (offset, self.rank, parent, name, self.version), worker)

    def open_worker(self, worker: int) -> None:
        """Begins to record a worker."""
        own = _spans.wall_minus_now()
        # One clock for all processes of a machine, even where the wall clock is moved meanwhile; another one only where
        # processes do not share what `now` counts from.
        offset = self.offset if abs(own - self.offset) < 1_000_000_000 else own
        name = f"loader worker {worker}"
        try:
            spans = self.open("fork", name, self.parent, offset, worker)
        except OSError as error:
            warnings.warn(f"stallscope: worker {worker} is not recorded: {error}", RuntimeWarning, stacklevel=2)
            return
        _spans.begin_recording(spans)
        _files.install()
        spans.watch_collections()


class Start:
    """In place of a loader's `worker_init_fn`."""

    def __init__(self, inner, place: Place):
        self.inner = inner
        self.place = place

    def __call__(self, worker: int):
        self.place.open_worker(worker)
        if self.inner is not None:
            self.inner(worker)
        info = sys.modules["torch.utils.data"].get_worker_info()
        if info is not None and _spans.current is not None:
            time_transforms(plain(info.dataset))


class Task:
    """Indices of a batch on their way to a worker; without a number where nothing is recorded."""

    __slots__ = ("batch", "index", "iterator")

    def __init__(self, index, iterator: int | None, batch: int | None):
        self.index = index
        self.iterator = iterator
        self.batch = batch

    def __reduce__(self):
        return _begin, (self.index, self.iterator, self.batch)


def _begin(index, iterator: int | None, batch: int | None):
    """A worker receives a task: the plain indices."""
    spans = _spans.current
    if spans is not None:
        if iterator is None or batch is None:
            spans.loading = False
        else:
            spans.begin(iterator, batch)
    return index


class Made:
    """A batch on its way to the loop, with its numbers."""

    __slots__ = ("batch", "content", "iterator", "worker")

    def __init__(self, content, iterator: int | None = None, batch: int | None = None, worker: int | None = None):
        self.content = content
        self.iterator = iterator
        self.batch = batch
        self.worker = worker

    def __reduce__(self):
        return Made, (self.content, self.iterator, self.batch, self.worker)

    def pin_memory(self):
        """The loader asks for it on its own thread."""
        pin = sys.modules["torch.utils.data._utils.pin_memory"].pin_memory
        self.content = pin(self.content)
        return self


class Numbered:
    """In place of a loader's sampler: counts what it gives out. `state` says whether it is recorded, and counts iterators."""

    def __init__(self, inner, state, sends: bool):
        self.inner = inner
        self.state = state
        # To other processes: as a `Task`.
        self.sends = sends

    def __iter__(self):
        # A generator runs when it is asked first: a loader makes one that it throws away.
        iterator = self.state.next_iterator()
        for batch, index in enumerate(self.inner):
            if not self.sends:
                yield index
            elif self.state.live:
                yield Task(index, iterator, batch)
            else:
                yield Task(index, None, None)

    def __len__(self):
        return len(self.inner)

    def __getattr__(self, name: str):
        return getattr(object.__getattribute__(self, "__dict__")["inner"], name)


class Collate:
    """In place of a loader's `collate_fn`."""

    def __init__(self, inner, wraps: bool):
        self.inner = inner
        # Batches leave as `Made`.
        self.wraps = wraps

    def __call__(self, samples):
        spans = _spans.current
        if spans is None or not spans.loading:
            content = self.inner(samples)
            return Made(content) if self.wraps else content
        start = now()
        try:
            content = self.inner(samples)
        finally:
            spans.pending.append((spans.kind(*COLLATE), start, now(), spans.batch))
            spans.loading = False
            if spans.worker is not None:
                # On disk before the loop can have the batch.
                spans.flush()
        if not self.wraps:
            return content
        return Made(content, *spans.task, spans.worker)


class Items:
    """In place of a data set: records each item. Everything else is the data set's own."""

    __slots__ = ("_inner",)

    def __init__(self, inner):
        object.__setattr__(self, "_inner", inner)

    def __reduce__(self):
        return type(self), (self._inner,)

    def __getattr__(self, name: str):
        return getattr(self._inner, name)

    def __setattr__(self, name: str, value):
        setattr(self._inner, name, value)

    def __delattr__(self, name: str):
        delattr(self._inner, name)

    @property
    def __class__(self):
        return type(self._inner)

    def __len__(self):
        return len(self._inner)

    def __repr__(self):
        return repr(self._inner)

    def __getitem__(self, index):
        spans = _spans.current
        if spans is None or not spans.loading:
            return self._inner[index]
        spans.reader = _ident()
        start = now()
        try:
            return self._inner[index]
        finally:
            end = now()
            spans.reader = None
            about = f"{spans.batch},\"index\":{index if type(index) is int else text(repr(index)[:100])}"
            spans.pending.append((spans.kind(*ITEM), start, end, about))


class ItemsAtOnce(Items):
    """A data set that gives all items of a batch in one call: one span."""

    __slots__ = ()

    def __getitems__(self, indices):
        spans = _spans.current
        if spans is None or not spans.loading:
            return self._inner.__getitems__(indices)
        spans.reader = _ident()
        start = now()
        try:
            return self._inner.__getitems__(indices)
        finally:
            end = now()
            spans.reader = None
            spans.pending.append((spans.kind(*ITEM), start, end, f'{spans.batch},"items":{len(indices)}'))


class ItemsInOrder(Items):
    """A data set that is iterated."""

    __slots__ = ()

    def __iter__(self):
        return _Stream(iter(self._inner))


class _Stream:
    def __init__(self, inner):
        self.inner = inner
        self.taken = 0

    def __iter__(self):
        return self

    def __next__(self):
        spans = _spans.current
        if spans is None or not spans.loading:
            return next(self.inner)
        spans.reader = _ident()
        start = now()
        try:
            item = next(self.inner)
        finally:
            end = now()
            spans.reader = None
        spans.pending.append((spans.kind(*ITEM), start, end, f'{spans.batch},"nth":{self.taken}'))
        self.taken += 1
        return item


def plain(dataset):
    """The data set itself."""
    return dataset._inner if issubclass(type(dataset), Items) else dataset


class Step:
    """In place of a transform."""

    def __init__(self, inner):
        self.inner = inner
        self.name = f"preprocess.{name_of(inner)}"

    def __call__(self, *args, **kwargs):
        spans = _spans.current
        if spans is None or not spans.loading:
            return self.inner(*args, **kwargs)
        start = now()
        try:
            return self.inner(*args, **kwargs)
        finally:
            spans.pending.append((spans.kind(self.name, "data"), start, now(), ""))

    def __getattr__(self, name: str):
        return getattr(object.__getattribute__(self, "__dict__")["inner"], name)

    def __repr__(self):
        return repr(self.inner)


def name_of(call) -> str:
    """What a callable is called."""
    while isinstance(call, functools.partial):
        call = call.func
    name = getattr(call, "__name__", None) or type(call).__name__
    return re.sub(r"\W+", "_", name)[:60].strip("_") or "transform"


def time_transforms(dataset) -> list:
    """Records the transforms that a data set, or one inside it, holds as `transform`, `transforms` or `target_transform`;
    those of a composition one by one. Returns what undoes it."""
    undo: list = []
    rest, seen = [dataset], set()
    while rest and len(seen) < 1_000:
        owner = rest.pop()
        if id(owner) in seen:
            continue
        seen.add(id(owner))
        own = getattr(owner, "__dict__", {})
        for name in ("transform", "transforms", "target_transform"):
            value = own.get(name)
            if value is None or isinstance(value, (Step, type)) or not callable(value):
                continue
            steps = getattr(value, "__dict__", {}).get("transforms")
            if isinstance(steps, list) and steps:
                new = [s if isinstance(s, Step) or not callable(s) else Step(s) for s in steps]
                _set(value, "transforms", new, undo)
            else:
                _set(owner, name, Step(value), undo)
        inner = [own.get("dataset"), *(own.get("datasets") or ())] if isinstance(own.get("datasets"), (list, tuple, type(None))) else []
        rest.extend(i for i in inner if i is not None)
    return undo


def _set(owner, name: str, value, undo: list) -> None:
    old = owner.__dict__[name]
    try:
        setattr(owner, name, value)
    except (AttributeError, TypeError):
        return  # A frozen object keeps its transforms; their time is the item's.
    undo.append((owner, name, old))


def wrapped(dataset, iterated: bool):
    """A data set that records its items."""
    if iterated:
        return ItemsInOrder(dataset)
    return ItemsAtOnce(dataset) if getattr(dataset, "__getitems__", None) else Items(dataset)


class span:
    """A part of loading an item, by name: `with stallscope.span("decode"):`. Does nothing where nothing is recorded."""

    __slots__ = ("_name", "_start")

    def __init__(self, name: str):
        self._name = name
        self._start = 0

    def __enter__(self):
        self._start = now()
        return self

    def __exit__(self, *_):
        spans = _spans.current
        if spans is not None and spans.loading:
            spans.pending.append((spans.kind(f"preprocess.{self._name}", "data"), self._start, now(), ""))

