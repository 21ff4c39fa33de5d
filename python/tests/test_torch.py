"""Real loaders with delays that are put in on purpose: the report says where they are, to the millisecond.

Skipped where PyTorch or the program (`STALLSCOPE_PROGRAM`, or a build in `target/debug`) is missing."""

from __future__ import annotations

import gc
import json
import os
import pathlib
import tempfile
import threading
import time
import unittest

import stallscope

try:
    import torch
    from torch.utils.data import DataLoader, Dataset, IterableDataset, get_worker_info
except ImportError:
    torch = None
    Dataset = IterableDataset = object

_BUILT = pathlib.Path(__file__).parents[2] / "target/debug/stallscope"
if "STALLSCOPE_PROGRAM" not in os.environ and _BUILT.exists():
    os.environ["STALLSCOPE_PROGRAM"] = str(_BUILT)
try:
    stallscope.program()
    PROGRAM = True
except stallscope.StallscopeError:
    PROGRAM = False

MS = 1_000_000


class Images(Dataset):
    """Reads a file for each item. `slow` names an item that sleeps; what it did is logged beside the files."""

    def __init__(self, folder, n=48, slow=None, seconds=0.2, transform=None):
        self.folder = folder
        self.n = n
        self.slow = slow
        self.seconds = seconds
        self.transform = transform
        for index in range(n):
            path = pathlib.Path(self.path(index))
            if not path.exists():
                path.write_bytes(bytes(20_000))

    def path(self, index):
        return os.path.join(self.folder, f"img_{index:03}.bin")

    def __len__(self):
        return self.n

    def __getitem__(self, index):
        start = time.time_ns()
        with open(self.path(index), "rb") as file:
            data = file.read()
        if index == self.slow:
            time.sleep(self.seconds)
            log(self.folder, start, time.time_ns())
        time.sleep(0.001)
        item = torch.tensor([float(index), float(os.getpid()), float(len(data))], dtype=torch.float64)
        return self.transform(item) if self.transform else item


class Stream(IterableDataset):
    """Worker u gives `counts[u]` items."""

    def __init__(self, counts):
        self.counts = counts

    def __iter__(self):
        info = get_worker_info()
        for n in range(self.counts[info.id]):
            time.sleep(0.002)
            yield torch.tensor([float(n), float(os.getpid()), 0.0], dtype=torch.float64)


def log(folder, start, end):
    with open(os.path.join(folder, "truth.jsonl"), "a", encoding="utf-8") as out:
        out.write(json.dumps([start, end]) + "\n")


class SlowCollate:
    """Sleeps once in each worker process, for its third batch; logs it with the next one, as logging takes time too."""

    def __init__(self, folder):
        self.folder = folder
        self.calls = 0

    def __call__(self, items):
        start = time.time_ns()
        self.calls += 1
        if self.calls == 3:
            time.sleep(0.2)
        if self.calls == 4:
            log(self.folder, *self.third)
        out = torch.stack(items)
        if self.calls == 3:
            self.third = (start, time.time_ns())
        return out


class Unsteady(Images):
    """Every fifth item is slow, so that batches overtake each other."""

    def __getitem__(self, index):
        if index % 10 == 0:
            time.sleep(0.03)
        return super().__getitem__(index)


def sleeping_transform(item):
    time.sleep(0.05)
    return item


@unittest.skipIf(torch is None, "PyTorch is not installed")
@unittest.skipUnless(PROGRAM, "the program is not built")
class RealLoaders(unittest.TestCase):
    def setUp(self):
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        self.data = folder.name
        self.run_folder = os.path.join(folder.name, "run")

    def train(self, loader, epochs=1, steps=None, body=0.004, each=None, **more):
        """Records a loop; returns the processes that made its batches."""
        pids = []
        with stallscope.record(self.run_folder, steps=steps, print_report=False, **more) as rec:
            for _ in range(epochs):
                for batch in rec.batches(loader):
                    pids.append(int(batch.reshape(-1)[1]))
                    with rec.phase("forward"):
                        time.sleep(body)
                    if each is not None:
                        each(rec)
                    rec.step()
        return pids

    def report(self):
        """The report, and its delivering waits."""
        report = stallscope.report(self.run_folder)
        self.assertEqual([n["text"] for n in report["notices"] if n["code"] not in ("no_gpu",)], [])
        ranks = report["ranks"]
        (rank,) = ranks.values() if isinstance(ranks, dict) else ranks
        waits = rank["loop"]["waits"]
        return report, rank["loop"], [w for w in waits if w["kind"] == "batch"]

    def truth(self, report):
        source = report["sources"][0]
        zero = source["unix_zero_ns"] - source["to_trace_ns"]
        text = pathlib.Path(self.data, "truth.jsonl").read_text(encoding="utf-8")
        return [[t - zero for t in json.loads(line)] for line in text.splitlines()]

    def assert_told(self, waits, pids):
        """Each wait's batch is laid to the process that made it, by its number."""
        self.assertEqual(len(waits), len(pids))
        for number, (wait, pid) in enumerate(zip(waits, pids)):
            cause = wait["cause"]
            self.assertEqual((cause["level"], cause["reason"], cause["pid"]), ("L2", None, pid), f"wait {number}")

    def assert_near(self, got, want):
        for a, b in zip(got, want):
            self.assertLess(abs(a - b), MS, f"{got} is not {want}")

    def test_a_slow_item_is_named_with_its_file(self):
        images = Images(self.data, slow=29)
        pids = self.train(DataLoader(images, batch_size=4, num_workers=2))
        report, _, waits = self.report()
        self.assert_told(waits, pids)
        worst = max(waits[1:], key=lambda w: w["end"] - w["start"])
        cause, item = worst["cause"], worst["cause"]["item"]
        self.assertEqual((cause["batch"], cause["kind"], cause["dominant"]), (29 // 4, "slow_item", "other"))
        self.assertEqual(item["index"], 29)
        self.assertEqual(item["files"][0]["file"], images.path(29))
        self.assert_near([item["start"]], [self.truth(report)[0][0]])
        self.assertLess(abs(item["end"] - item["start"] - 201 * MS), 10 * MS)

    def test_a_slow_collate_is_told(self):
        loader = DataLoader(Images(self.data), batch_size=4, num_workers=2, collate_fn=SlowCollate(self.data))
        pids = self.train(loader)
        report, _, waits = self.report()
        self.assert_told(waits, pids)
        worst = max(waits[1:], key=lambda w: w["end"] - w["start"])
        self.assertEqual(worst["cause"]["dominant"], "collate")
        made = worst["cause"]["made"][1]
        self.assertLess(min(abs(made - end) for _, end in self.truth(report)), MS)

    def test_a_slow_file_is_named(self):
        images = Images(self.data, slow=None)
        slow = images.path(17)
        os.remove(slow)
        os.mkfifo(slow)
        sent = []

        def feed():
            with open(slow, "wb", buffering=0) as pipe:
                sent.append(time.time_ns())
                time.sleep(0.2)
                pipe.write(bytes(20_000))
                sent.append(time.time_ns())

        thread = threading.Thread(target=feed)
        thread.start()
        pids = self.train(DataLoader(images, batch_size=4, num_workers=2))
        thread.join()
        _, loop, waits = self.report()
        self.assert_told(waits, pids)
        worst = max(waits[1:], key=lambda w: w["end"] - w["start"])
        cause, item = worst["cause"], worst["cause"]["item"]
        self.assertEqual((cause["batch"], cause["kind"], cause["dominant"], item["index"]), (4, "slow_file", "read", 17))
        self.assertEqual(item["files"][0]["file"], slow)
        self.assertEqual(item["files"][0]["bytes"], 20_000)
        self.assert_near([item["files"][0]["ns"]], [sent[1] - sent[0]])
        self.assertEqual((loop["cause"]["cause"], loop["cause"]["slow_files"]), ("slow_files", [slow]))

    def test_a_storm_of_collections_is_told(self):
        spent = []
        state = {}

        def watch(phase, info):
            if phase == "start":
                state["at"] = time.perf_counter_ns()
            else:
                spent.append(time.perf_counter_ns() - state["at"])

        keep = [[] for _ in range(50_000)]

        def storm(rec):
            gc.callbacks.append(watch)
            for _ in range(3):
                gc.collect()
            gc.callbacks.remove(watch)

        self.train(DataLoader(Images(self.data), batch_size=4, num_workers=2), each=storm)
        report, _, _ = self.report()
        del keep
        (issue,) = [i for i in report["ranks"]["0"]["verdict"]["issues"] if i["kind"] == "GC_STALL"]
        # Of all but the first of 12 steps, in which the loader starts.
        self.assertEqual(issue["evidence"]["occurrences"], 33)
        self.assert_near([issue["value"]], [sum(spent[3:])])

    def test_no_workers(self):
        images = Images(self.data, slow=29, transform=sleeping_transform)
        loader = DataLoader(images, batch_size=4)
        self.train(loader)
        _, loop, waits = self.report()
        self.assertEqual({w["cause"]["level"] for w in waits}, {"loop"})
        self.assertEqual((loop["cause"]["cause"], loop["cause"]["group"]), ("in_loop", "transform"))
        worst = max(waits, key=lambda w: w["end"] - w["start"])
        self.assertEqual(worst["cause"]["batch"], 29 // 4)
        self.assertIs(images.transform, sleeping_transform)

    def test_every_way_of_starting_workers(self):
        for method in ("fork", "spawn", "forkserver"):
            with self.subTest(method):
                self.setUp()
                loader = DataLoader(Images(self.data, n=24), batch_size=4, num_workers=2, multiprocessing_context=method)
                self.assert_told(self.report_of(loader, 1), self.pids)

    def report_of(self, loader, epochs):
        self.pids = self.train(loader, epochs)
        return self.report()[2]

    def test_persistent_workers_with_a_batch_each(self):
        loader = DataLoader(Images(self.data, n=8), batch_size=4, num_workers=2, persistent_workers=True)
        waits = self.report_of(loader, 4)
        self.assert_told(waits, self.pids)
        self.assertEqual([w["cause"]["iterator"] for w in waits], [0, 0, 1, 1, 2, 2, 3, 3])
        self.assertEqual(len(set(self.pids)), 2)

    def test_workers_started_in_each_epoch(self):
        waits = self.report_of(DataLoader(Images(self.data, n=16), batch_size=4, num_workers=2), 3)
        self.assert_told(waits, self.pids)

    def test_batches_that_overtake_each_other(self):
        loader = DataLoader(Unsteady(self.data, n=60), batch_size=3, num_workers=2, in_order=False)
        waits = self.report_of(loader, 1)
        self.assert_told(waits, self.pids)

    def test_streams_of_unequal_length(self):
        for size in (3, None):
            with self.subTest(batch_size=size):
                self.setUp()
                loader = DataLoader(Stream([4, 13, 7]), batch_size=size, num_workers=3)
                self.assert_told(self.report_of(loader, 2), self.pids)

    def test_two_loaders_take_turns(self):
        one = DataLoader(Images(self.data, n=24), batch_size=4, num_workers=1)
        two = DataLoader(Images(self.data, n=24), batch_size=4, num_workers=1)
        pids = []
        with stallscope.record(self.run_folder, steps=None, print_report=False) as rec:
            for a, b in zip(rec.batches(one), rec.batches(two)):
                pids += [int(a[0][1]), int(b[0][1])]
                time.sleep(0.004)
                rec.step()
        _, _, waits = self.report()
        self.assert_told(waits, pids)

    def test_a_loader_that_others_iterate(self):
        loader = DataLoader(Images(self.data, n=24), batch_size=4, num_workers=2)
        plain = DataLoader.__iter__
        pids = []
        with stallscope.record(self.run_folder, steps=None, print_report=False) as rec:
            for batch in loader:
                pids.append(int(batch[0][1]))
                rec.step()
        self.assertIs(DataLoader.__iter__, plain)
        self.assert_told(self.report()[2], pids)
        self.assertEqual(len(list(loader)), 6)

    def test_recording_ends_in_the_middle(self):
        loader = DataLoader(Images(self.data), batch_size=4, num_workers=2)
        pids = self.train(loader, steps=5)
        self.assertEqual(len(pids), 12)
        waits = self.report()[2]
        self.assert_told(waits, pids[:5])
        self.assertIsInstance(next(iter(loader)), torch.Tensor)

    def test_batches_are_those_of_the_plain_loader(self):
        images = Images(self.data, n=24)
        for more in ({}, {"num_workers": 2}, {"num_workers": 2, "shuffle": True}, {"batch_size": None}):
            with self.subTest(more):
                self.setUp()
                more = {"batch_size": 4, **more}
                loader = DataLoader(images, generator=torch.Generator().manual_seed(1), **more)
                plain = [b.reshape(-1, 3)[:, 0].tolist() for b in loader]
                loader = DataLoader(images, generator=torch.Generator().manual_seed(1), **more)
                with stallscope.record(self.run_folder, print_report=False) as rec:
                    ours = [b.reshape(-1, 3)[:, 0].tolist() for b in rec.batches(loader)]
                self.assertEqual(ours, plain)

    def test_batches_are_pinned_as_they_would_be(self):
        from stallscope._loading import Made
        from torch.utils.data._utils.pin_memory import pin_memory

        made = pin_memory(Made(["a", {"b": "c"}], 1, 2, 3))
        self.assertEqual((made.content, made.batch), (["a", {"b": "c"}], 2))

    def test_show_draws(self):
        self.train(DataLoader(Images(self.data, n=8), batch_size=4, num_workers=1))
        drawn = stallscope.show(self.run_folder)._repr_html_()
        self.assertIn("</svg>", drawn)


if __name__ == "__main__":
    unittest.main()
