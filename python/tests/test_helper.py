"""The recording helper without PyTorch: what is written, and that nothing that is wrapped behaves otherwise."""

from __future__ import annotations

import contextlib
import functools
import gc
import io
import json
import multiprocessing
import os
import pathlib
import pickle
import subprocess
import sys
import tempfile
import unittest
from unittest import mock

import stallscope
from stallscope import _files, _loading, _program, _record, _spans


def lines(path) -> list[dict]:
    """The records of a file."""
    return [json.loads(line) for line in pathlib.Path(path).read_text().splitlines()]


def spans_of(path) -> list[dict]:
    """Its spans, without what it says of itself."""
    return [r for r in lines(path) if r.get("ph") == 1 and r["cat"] != "dftracer"]


class InFolder(unittest.TestCase):
    def setUp(self):
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        self.folder = folder.name
        self.addCleanup(_spans.end_recording)
        self.addCleanup(_files.uninstall)

    def place(self, rank=None) -> _loading.Place:
        return _loading.Place(self.folder, rank, _spans.wall_minus_now(), "1")

    def begin(self, worker=None) -> _spans.Spans:
        place = self.place()
        spans = place.open("app", "test", os.getppid(), place.offset, worker)
        self.addCleanup(spans.close)
        _spans.begin_recording(spans)
        spans.begin(3, 7)
        return spans


class Files(InFolder):
    def test_a_file_is_whole_after_each_write(self):
        spans = self.begin()
        for n in range(3):
            spans.pending.append((spans.kind("item", "data"), 10 * n, 10 * n + 4, f'"index":{n}'))
            spans.flush()
            records = lines(spans.path)
            self.assertEqual([r["args"]["index"] for r in spans_of(spans.path)], list(range(n + 1)))
            self.assertEqual(records[-1]["name"], "end")
            self.assertEqual(records[-1]["args"]["num_events"], n + 2)
            self.assertEqual([r["name"] for r in records].count("end"), 1)

    def test_times_are_unix_and_whole_nanoseconds(self):
        spans = self.begin()
        spans.pending.append((spans.kind("x", "y"), _spans.now(), _spans.now() + 5, ""))
        spans.flush()
        start = spans_of(spans.path)[0]["ts"]
        self.assertLess(abs(start - __import__("time").time_ns()), 1_000_000_000)
        units = [r["args"]["value"] for r in lines(spans.path) if r["args"].get("name") == "time_metric"]
        self.assertEqual(units, ["NS"])

    def test_clocks_are_noted_at_begin_and_end(self):
        spans = self.begin()
        spans.close()
        pairs = [r["args"]["value"].split() for r in lines(spans.path) if r["args"].get("name") == "clock_pair"]
        self.assertEqual(len(pairs), 2)
        for mono, wall in pairs:
            self.assertLess(abs(int(wall) - int(mono) - spans.offset), 1_000_000_000)
        self.assertEqual(lines(spans.path)[-1]["name"], "end")

    def test_odd_names_stay_json(self):
        spans = self.begin()
        name = 'a "b" \\ \n \u00e9 \udcff'
        spans.pending.append((spans.kind(name, "data"), 1, 2, f'"fname":{_spans.text(name)}'))
        spans.flush()
        self.assertEqual(spans_of(spans.path)[0]["name"][:9], name[:9])

    def test_spans_of_other_threads_that_come_while_it_writes_are_kept(self):
        spans = self.begin()
        kind = spans.kind("x", "y")
        spans.pending.append((kind, 1, 2, ""))
        plain = spans._write

        def write(text):
            spans.pending.append((kind, 3, 4, ""))
            plain(text)

        with mock.patch.object(spans, "_write", write):
            spans.flush()
        spans.flush()
        self.assertEqual([s["ts"] - spans.offset for s in spans_of(spans.path)], [1, 3])

    def test_a_full_disk_ends_recording_and_nothing_else(self):
        spans = self.begin()
        plain = spans._file
        spans._file = mock.Mock()
        spans._file.seek.side_effect = OSError(28, "No space left on device")
        spans.pending.append((spans.kind("x", "y"), 1, 2, ""))
        with self.assertWarnsRegex(RuntimeWarning, "No space left"):
            spans.flush()
        spans.pending.append((spans.kind("x", "y"), 1, 2, ""))
        spans.flush()
        self.assertEqual(spans.pending, [])
        spans._file = plain

    def test_collections_are_written_or_counted(self):
        spans = self.begin()
        collector = spans._collections
        collector("stop", {"generation": 2, "collected": 0})
        collector("start", {})
        collector("stop", {"generation": 0, "collected": 0})
        self.assertEqual(collector.short, 1)
        spans.watch_collections()
        junk = [[] for _ in range(200_000)]
        for a in junk:
            a.append(a)
        del junk, a
        gc.collect()
        spans.close()
        found = [s for s in spans_of(spans.path) if s["name"] == "python.gc"]
        self.assertGreaterEqual(len(found), 1)
        self.assertEqual(found[-1]["args"]["generation"], 2)
        self.assertNotIn(collector, gc.callbacks)

    @unittest.skipUnless(hasattr(os, "fork"), "needs fork")
    def test_a_child_does_not_write_what_the_parent_had_pending(self):
        spans = self.begin()
        spans.watch_collections()
        spans.pending.append((spans.kind("x", "y"), 1, 2, ""))
        child = multiprocessing.get_context("fork").Process(target=_child_is_clean)
        child.start()
        child.join()
        self.assertEqual(child.exitcode, 0)
        spans.flush()
        self.assertEqual([s["name"] for s in spans_of(spans.path)].count("x"), 1)


def _child_is_clean():
    assert _spans.current is None
    assert not any(isinstance(c, _spans.Collections) for c in gc.callbacks)


class Open(InFolder):
    def setUp(self):
        super().setUp()
        self.path = os.path.join(self.folder, "data.txt")
        with open(self.path, "w", encoding="utf-8") as out:
            out.write("eins\nzwei\ndrei é\n" * 3_000)
        self.spans = self.begin()
        _files.install()
        self.spans.reader = __import__("threading").get_ident()

    def read_spans(self):
        self.spans.flush()
        return spans_of(self.spans.path)

    def test_objects_are_those_of_always(self):
        for mode in ("r", "rt", "rb"):
            for buffering in (-1, 512):
                with open(self.path, mode, buffering) as ours, _files._plain_open(self.path, mode, buffering) as plain:
                    self.assertIs(type(ours), type(plain))
                    self.assertEqual((ours.mode, ours.name), (plain.mode, plain.name))
                    self.assertEqual(ours.readline(), plain.readline())
                    self.assertEqual(ours.read(), plain.read())
                    self.assertEqual(ours.seek(3), plain.seek(3))
                    self.assertEqual(ours.read(5), plain.read(5))
                    self.assertEqual(ours.fileno() > 2, plain.fileno() > 2)
                self.assertTrue(ours.closed)

    def test_errors_are_those_of_always(self):
        for args in (("/nowhere/x",), (self.folder,), (self.path, "rb", -1, "utf-8"), (self.path, "q"), (3.5,)):
            with self.assertRaises(Exception) as plain:
                _files._plain_open(*args)
            with self.assertRaises(type(plain.exception)) as ours:
                open(*args)
            self.assertEqual(str(ours.exception), str(plain.exception))

    def test_calls_that_read_are_written_with_file_and_bytes(self):
        size = os.path.getsize(self.path)
        # `pathlib` keeps the `open` of its import up to Python 3.10.
        for again in (open, pathlib.Path.open if sys.version_info >= (3, 11) else open):
            with again(pathlib.Path(self.path), "rb") as file:
                file.read()
        got = self.read_spans()
        self.assertEqual({s["args"]["fname"] for s in got}, {self.path})
        self.assertEqual(sum(s["args"]["ret"] for s in got if s["name"] == "read"), 2 * size)
        self.assertEqual([s["name"] for s in got].count("open"), 2)
        self.assertEqual([s["name"] for s in got].count("close"), 2)
        ends = [s["ts"] + s["dur"] for s in got]
        self.assertEqual(ends, sorted(ends))

    def test_other_modes_threads_and_times_are_left_alone(self):
        with open(os.path.join(self.folder, "new"), "w") as out:
            out.write("x")
        with open(self.path, "r+b") as both:
            both.read(1)
        self.spans.reader = None
        with open(self.path, "rb") as file:
            file.read()
        self.assertEqual(self.read_spans(), [])
        _files.uninstall()
        self.assertIs(open, _files._plain_open)
        self.assertIs(io.open, _files._plain_open)


class Squares:
    def __init__(self, n):
        self.n = n

    def __len__(self):
        return self.n

    def __getitem__(self, index):
        if index >= self.n:
            raise IndexError(index)
        return index * index


class Many(Squares):
    def __getitems__(self, indices):
        return [self[i] for i in indices]


class Wrapping(InFolder):
    def spans(self):
        _spans.current.flush()
        return spans_of(_spans.current.path)

    def test_items_carry_batch_worker_and_index(self):
        self.begin(worker=1)
        items = _loading.wrapped(Squares(5), False)
        self.assertEqual([items[2], items[3]], [4, 9])
        args = [s["args"] for s in self.spans()]
        self.assertEqual(args[0], {"batch": 7, "iterator": 3, "worker": 1, "index": 2})

    def test_an_item_that_fails_is_written_and_fails(self):
        self.begin()
        with self.assertRaises(IndexError):
            _loading.wrapped(Squares(5), False)[9]
        self.assertEqual(self.spans()[0]["args"]["index"], 9)
        self.assertIsNone(_spans.current.reader)

    def test_nothing_is_written_between_batches(self):
        spans = self.begin()
        spans.loading = False
        self.assertEqual(_loading.wrapped(Squares(5), False)[2], 4)
        with stallscope.span("decode"):
            pass
        self.assertEqual(self.spans(), [])

    def test_a_data_set_looks_like_itself(self):
        inner = Squares(5)
        items = _loading.wrapped(inner, False)
        self.assertIsInstance(items, Squares)
        self.assertEqual(len(items), 5)
        items.n = 6
        self.assertEqual((inner.n, len(items)), (6, 6))
        again = pickle.loads(pickle.dumps(items))
        self.assertIs(type(again), _loading.Items)
        self.assertEqual(len(again), 6)
        self.assertFalse(hasattr(items, "__getitems__"))

    def test_items_at_once_are_one_span(self):
        self.begin()
        many = _loading.wrapped(Many(5), False)
        self.assertEqual(many.__getitems__([1, 2]), [1, 4])
        self.assertEqual([s["args"]["items"] for s in self.spans()], [2])

    def test_a_stream_ends_without_an_item(self):
        self.begin()
        self.assertEqual(list(_loading.wrapped(iter("ab"), True)), ["a", "b"])
        self.assertEqual([s["args"]["nth"] for s in self.spans()], [0, 1])

    def test_numbers_travel_with_the_indices_and_back(self):
        spans = self.begin(worker=2)
        state = mock.Mock(live=True)
        state.next_iterator.side_effect = [0, 1]
        sampler = _loading.Numbered([[5, 6], [7]], state, sends=True)
        self.assertEqual(len(sampler), 2)
        iter(sampler)
        sent = [pickle.dumps(t) for t in sampler]
        for number, (data, indices) in enumerate(zip(sent, [[5, 6], [7]])):
            spans.loading = False
            self.assertEqual(pickle.loads(data), indices)
            self.assertTrue(spans.loading)
            made = pickle.loads(pickle.dumps(_loading.Collate(list, True)(indices)))
            self.assertEqual((made.content, made.iterator, made.batch, made.worker), (indices, 0, number, 2))
        state.live = False
        task = next(iter(sampler))
        self.assertEqual(pickle.loads(pickle.dumps(task)), [5, 6])
        self.assertFalse(spans.loading)
        self.assertIsNone(_loading.Collate(list, True)([1]).batch)

    def test_a_batch_is_in_the_file_when_it_is_handed_over(self):
        spans = self.begin(worker=0)
        _loading.Collate(list, True)([1])
        last = spans_of(spans.path)[-1]
        self.assertEqual((last["name"], last["args"]["batch"]), ("preprocess.collate", 7))

    def test_transforms_of_a_composition_are_told_apart_and_given_back(self):
        class Compose:
            def __init__(self, transforms):
                self.transforms = transforms

            def __call__(self, x):
                for t in self.transforms:
                    x = t(x)
                return x

        class Folder:
            def __init__(self, transform, target_transform=None):
                self.transform = transform
                self.target_transform = target_transform

        class Subset:
            def __init__(self, dataset):
                self.dataset = dataset

        def double(x):
            return 2 * x

        steps = [double, functools.partial(pow, 2)]
        compose = Compose(steps)
        inner = Folder(compose, str)
        single = Folder(double)
        undo = _loading.time_transforms(Subset(inner)) + _loading.time_transforms(Subset(single))
        self.begin()
        self.assertEqual(inner.transform(3), 64)
        self.assertEqual(single.transform(3), 6)
        self.assertEqual([s["name"] for s in self.spans()], ["preprocess.double", "preprocess.pow", "preprocess.double"])
        self.assertIs(inner.target_transform, str)
        for owner, name, old in reversed(undo):
            setattr(owner, name, old)
        self.assertIs(compose.transforms, steps)
        self.assertIs(single.transform, double)


class Loop(InFolder):
    def record(self, **more):
        more = {"profile": False, "print_report": False, "steps": None, **more}
        return stallscope.record(self.folder, **more)

    def app(self):
        (path,) = pathlib.Path(self.folder).glob("spans-*app.pfw")
        return path

    def test_waits_phases_and_steps_of_any_iterable(self):
        with self.record() as rec:
            self.assertEqual([b for b in self.loop(rec, "ab")], ["a", "b"])
        got = spans_of(self.app())
        names = [s["name"] for s in got]
        self.assertEqual(names.count("fetch.iter"), 2)
        self.assertEqual([s["args"]["count"] for s in got if s["name"] == "fetch.iter"], [1, 2])
        self.assertEqual([n for n in names if n.startswith("step")], ["step 0", "step 1"])
        self.assertEqual(names.count("checkpoint"), 2)

    def loop(self, rec, loader):
        for batch in rec.batches(loader):
            with rec.phase("checkpoint"):
                pass
            yield batch
            rec.step()

    def test_recording_ends_after_so_many_steps_and_the_loop_goes_on(self):
        with self.record(steps=2) as rec:
            self.assertEqual(list(self.loop(rec, range(5))), list(range(5)))
            self.assertFalse(rec.live)
        names = [s["name"] for s in spans_of(self.app())]
        self.assertEqual(names.count("fetch.iter"), 2)
        self.assertIsNone(_spans.current)
        self.assertIs(open, _files._plain_open)

    def test_an_earlier_recording_is_refused_or_replaced(self):
        with self.record():
            pass
        with self.assertRaisesRegex(stallscope.StallscopeError, "overwrite=True"), self.record():
            pass
        old = self.app()
        with self.record(overwrite=True):
            pass
        self.assertEqual(len(list(pathlib.Path(self.folder).glob("*.pfw"))), 1, old)

    def test_ranks_share_a_folder(self):
        for rank in "01":
            with mock.patch.dict(os.environ, {"RANK": rank, "WORLD_SIZE": "2"}), self.record() as rec:
                self.assertEqual((rec.rank, rec.world), (int(rank), 2))
        names = sorted(p.name.split("-")[1] for p in pathlib.Path(self.folder).iterdir())
        self.assertEqual(names, ["rank0", "rank1"])
        first = next(pathlib.Path(self.folder).glob("spans-rank1-*"))
        facts = [r["args"] for r in lines(first) if r["name"] == "PR"]
        self.assertEqual([(f["name"], f["value"]) for f in facts], [("rank", "1")])

    def test_ranks_of_launchers(self):
        for env, want in [
            ({}, (None, 1)),
            ({"RANK": "3", "WORLD_SIZE": "8"}, (3, 8)),
            ({"SLURM_PROCID": "1", "SLURM_NTASKS": "4"}, (1, 4)),
            ({"OMPI_COMM_WORLD_RANK": "2", "OMPI_COMM_WORLD_SIZE": "4", "SLURM_PROCID": "0", "SLURM_NTASKS": "1"}, (2, 4)),
            ({"RANK": "x", "WORLD_SIZE": "8"}, (None, 1)),
        ]:
            with mock.patch.dict(os.environ, env, clear=True):
                self.assertEqual(_record.rank_and_world(), want, env)

    def test_an_error_in_the_loop_comes_through_and_files_are_whole(self):
        with self.assertRaises(ZeroDivisionError), self.record(print_report=True) as rec:
            for _ in rec.batches("ab"):
                1 / 0
        self.assertEqual(lines(self.app())[-1]["name"], "end")
        self.assertIsNone(_spans.current)

    @unittest.skipUnless(hasattr(os, "fork"), "needs fork")
    def test_a_child_that_goes_on_with_the_recording_writes_nothing(self):
        with self.record() as rec:
            child = multiprocessing.get_context("fork").Process(target=lambda: list(rec.batches("abc")))
            child.start()
            child.join()
            self.assertEqual(child.exitcode, 0)
            list(rec.batches("ab"))
        self.assertEqual([s["name"] for s in spans_of(self.app())].count("fetch.iter"), 2)

    def test_misuse_says_what_to_do(self):
        with self.assertRaises(ValueError):
            self.record(steps=0)
        with self.record() as rec:
            with self.assertRaisesRegex(stallscope.StallscopeError, "name a loader"):
                rec.batches()
            with self.assertRaisesRegex(stallscope.StallscopeError, "already"), stallscope.record(self.folder + "2"):
                pass


class Program(unittest.TestCase):
    @unittest.skipUnless(hasattr(sys, "stdlib_module_names"), "Python 3.10")
    def test_workers_import_the_standard_library_only(self):
        code = "import sys, stallscope._loading; print(sorted({m.split('.')[0] for m in sys.modules} - set(sys.stdlib_module_names)))"
        env = {**os.environ, "PYTHONPATH": os.pathsep.join(sys.path)}
        done = subprocess.run([sys.executable, "-S", "-c", code], capture_output=True, text=True, env=env, check=True)
        self.assertLessEqual(set(json.loads(done.stdout.replace("'", '"'))), {"__main__", "stallscope"})

    def test_a_program_that_is_not_there(self):
        with mock.patch.dict(os.environ, {"STALLSCOPE_PROGRAM": "/nowhere/stallscope"}):
            with self.assertRaisesRegex(stallscope.StallscopeError, "cannot be run"):
                stallscope.report("x")
        with mock.patch.dict(os.environ, {"PATH": ""}), mock.patch("os.access", return_value=False):
            os.environ.pop("STALLSCOPE_PROGRAM", None)
            with self.assertRaisesRegex(stallscope.StallscopeError, "pip install stallscope"):
                _program.program()

    def test_a_picture_for_notebooks_escapes_its_text(self):
        drawn = _program.Picture("<svg/>", "a < b")._repr_html_()
        self.assertIn("a &lt; b", drawn)
        self.assertIn("<svg/>", drawn)

    def test_everything_that_is_named_is_there(self):
        for name in stallscope.__all__:
            self.assertTrue(getattr(stallscope, name), name)
        with self.assertRaises(AttributeError), contextlib.suppress(KeyError):
            stallscope.nothing


if __name__ == "__main__":
    unittest.main()
