"""Recording a training loop: torch.profiler, the loader with its workers, the garbage collector, phases."""

from __future__ import annotations

import glob
import os
import sys
import threading
import time
import warnings
from multiprocessing.process import BaseProcess

from . import _files, _spans
from ._loading import Collate, Made, Numbered, Place, Start, time_transforms, wrapped
from ._program import StallscopeError, run
from ._spans import now

_FETCH = ("fetch.iter", "dataloader")
_MAKE = ("loader_init", "dataloader")
# Names that the category alone tells apart in files of this kind.
_ANNOTATION = "user_annotation"

# Marks the copies of loaders that a recording iterates.
_VIEW = "_stallscope"

# A loader that is asked within this time after it was made was made for that, ns.
_AT_ONCE = 1_000_000


def rank_and_world() -> tuple[int | None, int]:
    """Which process of how many this is, by torch.distributed or by what its launcher says; `None` where nothing does."""
    torch = sys.modules.get("torch")
    distributed = getattr(torch, "distributed", None)
    if distributed is not None and distributed.is_available() and distributed.is_initialized():
        return distributed.get_rank(), distributed.get_world_size()
    for rank, world in (
        ("RANK", "WORLD_SIZE"),
        ("OMPI_COMM_WORLD_RANK", "OMPI_COMM_WORLD_SIZE"),
        ("PMI_RANK", "PMI_SIZE"),
        ("SLURM_PROCID", "SLURM_NTASKS"),
    ):
        try:
            return int(os.environ[rank]), int(os.environ[world])
        except (KeyError, ValueError):
            continue
    return None, 1


class _Loader:
    """A loader whose iterators are recorded: a copy of it, with the same workers' settings, in whose place it stands."""

    def __init__(self, recording: Recording, loader):
        self.recording = recording
        # Kept, so that its address is its own.
        self.loader = loader
        self.undo: list = []
        self.workers = 0
        torch = sys.modules.get("torch.utils.data")
        kind = type(loader)
        if torch is None or not issubclass(kind, torch.DataLoader):
            self.view = loader
            return
        self.workers = loader.num_workers
        view = self.view = object.__new__(kind)
        own = view.__dict__
        own.update(loader.__dict__)
        # Persistent workers that are there already do not record.
        own["_iterator"] = None
        own[_VIEW] = True
        iterated = own["_dataset_kind"] == 1
        piped = isinstance(loader.dataset, (torch.IterDataPipe, torch.MapDataPipe))
        if not piped:
            own["dataset"] = wrapped(loader.dataset, iterated)
        sampler = "sampler" if loader.batch_sampler is None else "batch_sampler"
        own[sampler] = Numbered(own[sampler], recording, sends=self.workers > 0)
        # What a loader of another kind does with batches would meet `Made`.
        usual = kind.__iter__ is torch.DataLoader.__iter__ and kind._get_iterator is torch.DataLoader._get_iterator
        own["collate_fn"] = Collate(loader.collate_fn, wraps=usual)
        if self.workers > 0:
            own["worker_init_fn"] = Start(loader.worker_init_fn, recording.place)
        elif not piped:
            self.undo = time_transforms(loader.dataset)

    def restore(self) -> None:
        """The data set has its transforms again."""
        for owner, name, old in reversed(self.undo):
            setattr(owner, name, old)
        self.undo = []


class _Births:
    """Notes the processes that are started inside it: number, begin and end of the call."""

    def __enter__(self):
        self.all: list[tuple[int, int, int]] = []
        self._plain = plain_start = BaseProcess.start

        def start(process):
            begin = now()
            plain_start(process)
            self.all.append((process.pid, begin, now()))

        BaseProcess.start = start
        return self

    def __exit__(self, *_):
        BaseProcess.start = self._plain


class _Batches:
    """One pass over a loader."""

    def __init__(self, loader: _Loader):
        self.loader = loader
        self.begun: int | None = now()
        with _Births() as births:
            self.inner = iter(loader.view)
        spans = loader.recording.spans
        if spans is not None:
            kind = spans.kind("fork", "POSIX")
            spans.pending.extend((kind, start, end, f'"ret":{pid}') for pid, start, end in births.all)
        self.made = now()
        self.count = 0
        self.own_number: int | None = None

    def __iter__(self):
        return self

    def __len__(self):
        return len(self.loader.view)

    def __getattr__(self, name: str):
        return getattr(object.__getattribute__(self, "__dict__")["inner"], name)

    def __next__(self):
        spans = self.loader.recording.spans
        thread = threading.get_native_id()
        if spans is None:
            got = next(self.inner)
            return got.content if type(got) is Made else got
        start = now()
        if self.begun is not None:
            # Making the iterator, and its workers, is part of the first wait.
            if start - self.made < _AT_ONCE:
                start = self.begun
            else:
                spans.pending.append((spans.kind(*_MAKE, thread), self.begun, self.made, ""))
            self.begun = None
        if self.loader.workers == 0:
            # The sampler is asked inside: its iterator has the next number until then.
            number = self.own_number
            if number is None:
                number = self.own_number = self.loader.recording.peek_iterator()
            spans.begin(number, self.count)
        try:
            got = next(self.inner)
        except StopIteration:
            spans.loading = False
            spans.flush()
            raise
        end = now()
        spans.loading = False
        self.count += 1
        about = f'"count":{self.count}'
        if type(got) is Made:
            if got.iterator is not None:
                about += f',"batch":{got.batch},"iterator":{got.iterator}'
            got = got.content
        spans.pending.append((spans.kind(*_FETCH, thread), start, end, about))
        spans.flush()
        return got


class _Phase:
    __slots__ = ("_kind", "_mark", "_recording", "_start")

    def __init__(self, recording: Recording, name: str):
        self._recording = recording
        self._kind = None
        self._mark = None
        spans = recording.spans
        if spans is not None:
            self._kind = spans.kind(name, _ANNOTATION)
            if recording.profiler is not None:
                self._mark = sys.modules["torch"].profiler.record_function(name)

    def __enter__(self):
        self._start = now()
        if self._mark is not None:
            self._mark.__enter__()
        return self

    def __exit__(self, *what):
        if self._mark is not None:
            self._mark.__exit__(*what)
        spans = self._recording.spans
        if spans is not None and self._kind is not None:
            spans.pending.append((self._kind, self._start, now(), ""))


class Recording:
    """One recording; see `record`."""

    def __init__(self, folder, steps, loader, profile, overwrite, print_report, profiler):
        if steps is not None and steps < 1:
            raise ValueError(f"steps must be 1 or more, or None for all: {steps}")
        self.folder = os.path.abspath(os.fspath(folder))
        self.steps = steps
        self.spans: _spans.Spans | None = None
        self.profiler = None
        self.seconds: float | None = None
        self._default = loader
        self._wants_profiler = profile
        self._overwrite = overwrite
        self._print_report = print_report
        self._profiler_options = profiler or {}
        self._loaders: dict[int, _Loader] = {}
        self._iterators = 0
        self._done = 0
        self._step_from: int | None = None
        self._plain_iter = None

    # ------------------------------------------------------------------ begin and end

    def __enter__(self):
        if self.spans is not None or self.seconds is not None:
            raise StallscopeError("a recording is made once: call stallscope.record again")
        if _spans.current is not None:
            raise StallscopeError("this process is being recorded already: end that recording first")
        from . import __version__

        self.rank, self.world = rank_and_world()
        self._make_folder()
        self.offset = _spans.wall_minus_now()
        self.place = Place(self.folder, self.rank, self.offset, __version__)
        if self._wants_profiler:
            self._start_profiler()
        # The pids of ranks on several machines may be equal, their ranks are not.
        self.spans = self.place.open("app", _spans.program_name(), os.getppid(), self.offset)
        _spans.begin_recording(self.spans)
        _files.install()
        self.spans.watch_collections()
        self._step_from = now()
        self._begun = time.monotonic()
        self._record_loaders()
        return self

    def __exit__(self, kind, *_):
        self.stop()
        for loader in self._loaders.values():
            loader.restore()
            # Ends persistent workers that only the recording had.
            if loader.view is not loader.loader and hasattr(loader.view, "__dict__"):
                loader.view.__dict__["_iterator"] = None
        self._loaders.clear()
        if kind is None and self._print_report:
            self._say()

    def stop(self) -> None:
        """Ends the recording and writes what is pending. The loop may go on, as if there were none."""
        spans, self.spans = self.spans, None
        if spans is None:
            return
        self.seconds = time.monotonic() - self._begun
        _spans.end_recording()
        _files.uninstall()
        spans.close()
        if self._plain_iter is not None:
            sys.modules["torch.utils.data"].DataLoader.__iter__ = self._plain_iter
        for loader in self._loaders.values():
            loader.restore()
        self._moved = _spans.wall_minus_now() - self.offset
        profiler, self.profiler = self.profiler, None
        if profiler is not None:
            profiler.stop()
            # Whole or not at all.
            part = os.path.join(self.folder, f"part-{self._torch_name()}")
            profiler.export_chrome_trace(part)
            os.replace(part, os.path.join(self.folder, self._torch_name()))

    def _torch_name(self) -> str:
        return "torch.json.gz" if self.rank is None else f"torch-rank{self.rank}.json.gz"

    def _make_folder(self) -> None:
        os.makedirs(self.folder, exist_ok=True)
        of = "" if self.rank is None else f"-rank{self.rank}"
        where = glob.escape(self.folder)
        old = [*glob.glob(os.path.join(where, f"spans{of}-[0-9]*.pfw")), *glob.glob(os.path.join(where, self._torch_name()))]
        if old and not self._overwrite:
            raise StallscopeError(
                f"{self.folder} holds an earlier recording ({os.path.basename(old[0])}): give another folder, or overwrite=True"
            )
        for path in old:
            os.remove(path)

    def _start_profiler(self) -> None:
        try:
            from torch import profiler
        except ImportError:
            warnings.warn(
                "stallscope: PyTorch is not installed: the loop and its loader are recorded, the GPU is not", RuntimeWarning, stacklevel=3
            )
            return
        options = dict(self._profiler_options)
        options.setdefault("activities", sorted(profiler.supported_activities(), key=str))
        # Without a schedule of its own no steps are marked.
        options.setdefault("schedule", lambda _: profiler.ProfilerAction.RECORD)
        self.profiler = profiler.profile(**options)
        self.profiler.start()

    def _record_loaders(self) -> None:
        """Every loader that is iterated from now on is recorded, whoever does it."""
        torch = sys.modules.get("torch.utils.data")
        if torch is None:
            return
        plain = self._plain_iter = torch.DataLoader.__iter__

        def recorded(loader):
            return plain(loader) if _VIEW in loader.__dict__ else self.batches(loader)

        torch.DataLoader.__iter__ = recorded

    # ------------------------------------------------------------------ what the loop says

    def batches(self, loader=None):
        """The batches of a loader, or of anything that can be iterated; each wait for one is recorded. A `DataLoader` is
        recorded in a plain `for` too."""
        loader = self._default if loader is None else loader
        if loader is None:
            raise StallscopeError("name a loader: rec.batches(loader), or record(…, loader=loader)")
        return _Batches(self._loader(loader))

    def step(self) -> None:
        """A training step ends. After the last one asked for the recording ends, and the loop goes on without it."""
        spans = self.spans
        if spans is None:
            return
        if self.profiler is not None:
            self.profiler.step()
        else:
            end = now()
            spans.pending.append((spans.kind(f"step {self._done}", _ANNOTATION), self._step_from, end, ""))
            self._step_from = end
        self._done += 1
        if self.steps is not None and self._done >= self.steps:
            self.stop()

    def phase(self, name: str) -> _Phase:
        """A part of the loop, by name: `with rec.phase("checkpoint"):`; also forward, backward, optimizer, validate, epoch 3."""
        return _Phase(self, name)

    # ------------------------------------------------------------------ inside

    @property
    def live(self) -> bool:
        """Whether it records now."""
        return self.spans is not None

    def next_iterator(self) -> int:
        """The number of an iterator that begins."""
        self._iterators += 1
        return self._iterators - 1

    def peek_iterator(self) -> int:
        """The number that the next iterator will have."""
        return self._iterators

    def _loader(self, loader) -> _Loader:
        found = self._loaders.get(id(loader))
        if found is None:
            found = self._loaders[id(loader)] = _Loader(self, loader)
        return found

    def _say(self) -> None:
        seconds = self.seconds or 0.0
        print(f"stallscope: recorded {self._done} steps, {seconds:.1f} s, to {self.folder}")
        if abs(self._moved) > 1_000_000:
            print(f"stallscope: the wall clock moved by {self._moved / 1e6:.1f} ms meanwhile; times follow it as it was at the start")
        if self.world > 1:
            if self.rank == 0:
                print(f"stallscope: when all {self.world} ranks have ended: stallscope report {self.folder}")
            return
        try:
            print(run("report", self.folder), end="")
        except StallscopeError as error:
            print(f"stallscope: no report: {error}")


def record(
    folder,
    steps: int | None = 40,
    loader=None,
    *,
    profile: bool = True,
    overwrite: bool = False,
    print_report: bool = True,
    profiler: dict | None = None,
) -> Recording:
    """Records a training loop into a folder that `stallscope FOLDER` opens; use it in a `with` statement.

    folder: made where it is missing. Ranks of one run share it.
    steps: recording ends after so many calls of `step()`, the loop goes on; `None`: at the end of the block.
    loader: what `batches()` takes by itself. Every `DataLoader` that is iterated in the block is recorded.
    profile: run torch.profiler too; without it the GPU is not recorded.
    overwrite: an earlier recording of this rank in the folder is removed, instead of refused.
    print_report: print the report at the end of the block.
    profiler: options for torch.profiler.profile, for example `{"with_stack": True}`.
    """
    return Recording(folder, steps, loader, profile, overwrite, print_report, profiler)
