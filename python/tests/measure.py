"""What recording costs; run by hand: `python -m tests.measure` in the folder above. Prints the cost of a span, of all that is
written for an item with a file and two transforms, and that as a share of an item of 20 ms."""

from __future__ import annotations

import os
import pathlib
import statistics
import tempfile
import time

from stallscope import _files, _loading, _spans

ITEMS, BATCH, ROUNDS = 3_200, 32, 9


def one(x):
    return x


class Compose:
    def __init__(self):
        self.transforms = [one, one]

    def __call__(self, x):
        for t in self.transforms:
            x = t(x)
        return x


class Plain:
    transform = None

    def __getitem__(self, index):
        return index


class Reads:
    def __init__(self, path):
        self.path = path
        self.transform = Compose()

    def __getitem__(self, index):
        with open(self.path, "rb") as file:
            return self.transform(file.read())


def run(dataset, collate, spans=None) -> float:
    """ns per item, of the process's own time."""
    start = time.process_time_ns()
    for batch in range(ITEMS // BATCH):
        if spans is not None:
            spans.begin(0, batch)
        collate([dataset[i] for i in range(batch * BATCH, batch * BATCH + BATCH)])
    return (time.process_time_ns() - start) / ITEMS


def main() -> None:
    with tempfile.TemporaryDirectory() as folder:
        path = os.path.join(folder, "x")
        pathlib.Path(path).write_bytes(bytes(50_000))
        place = _loading.Place(folder, None, _spans.wall_minus_now(), "1")
        spans = place.open("fork", "worker", 0, place.offset, 0)
        results = {"item": [], "file": []}
        for _ in range(ROUNDS):
            for name, make, count in (("item", Plain, 1), ("file", lambda: Reads(path), 6)):
                plain = run(make(), list)
                inner = make()
                _loading.time_transforms(inner)
                _spans.begin_recording(spans)
                _files.install()
                ours = run(_loading.wrapped(inner, False), _loading.Collate(list, True), spans)
                _files.uninstall()
                _spans.end_recording()
                # With its part of the batch's collate and write.
                results[name].append((ours - plain) / count)
        per_item = 6 * statistics.median(results["file"])
        print(f"a span without more: {statistics.median(results['item']) / 1e3:.2f} µs")
        print(f"a span of an item with open, read, close, two transforms: {statistics.median(results['file']) / 1e3:.2f} µs")
        print(f"all of that item: {per_item / 1e3:.1f} µs, {per_item / 20e6:.3%} of 20 ms")


if __name__ == "__main__":
    main()
