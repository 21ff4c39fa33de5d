#!/usr/bin/env python3
"""own.py PROGRAM MAKE_TRACE WORK ENGINE...: simulates two jobs of several ranks, lets the program write their tables, and asks the
queries of docs/sql. All engines must answer alike, and what `report --json` says of the same traces opened together, which comes from other
code."""

import collections
import json
import pathlib
import statistics
import subprocess
import sys
import time

import duckdb
import pyarrow.parquet

from queries import ENGINES, queries, same
from sums import by_duckdb, by_polars, by_pyarrow

JOBS = {
    "before": ["--late-rank", "2:input:20", "--gc", "5:30", "--seed", "1"],
    "after": ["--late-rank", "3:forward:12", "--seed", "2"],
}
# What the report says of these is of all steps, also of the first one.
OF_ALL_STEPS, LATER = ["Q1", "Q8", "Q9"], " AND step > 0"


def run(*args):
    done = subprocess.run(list(map(str, args)), capture_output=True, text=True)
    assert done.returncode in (0, 4), f"{args}: {done.stderr}"
    return done.stdout


def cycles(report):
    """Of each judged cycle: its rank and what the report says of it."""
    return [(r["rank"], c) for r in report["compare"]["ranks"] for c in r["cycles"]]


def part(cycle, name):
    parts = cycle["gpu_parts"]
    return parts.get(name, parts.get("idle_" + name, 0))


def late_ones(reports):
    """Q1 of all steps: a rank that came last with others is in no row of it."""
    rows = []
    for name, report in reports.items():
        for late in report["job"]["late"]:
            assert late["last_shared"] == 0, "choose jobs whose ranks are late alone"
            if late["last"]:
                rows.append([name, late["rank"], late["last"], late["cost"] / 1e6, late["cost"] / 1e6 / late["last"]])
    return sorted(rows, key=lambda r: (-r[3], r[1]))[:5]


def worst_steps(reports):
    rows = []
    for name, report in reports.items():
        longest = collections.defaultdict(int)
        for _, c in cycles(report):
            longest[c["number"]] = max(longest[c["number"]], c["time"])
        middle = statistics.median(longest.values())
        rows += [(t - middle, n, [name, n, t / 1e6, middle / 1e6]) for n, t in longest.items()]
    return [r[2] for r in sorted(rows, key=lambda r: (-r[0], r[1]))[:3]]


def why(reports, found):
    """Q3, of the rank and step that the answer names: which one that is, the report does not say."""
    rank, step = found[0][:2]
    own = [c for r, c in cycles(reports["before"]) if r == rank]
    assert rank == reports["before"]["job"]["culprit"]
    names = ["compute", "wait_exposed", "gc", "checkpoint", "host", "sync"]
    this = next(c for c in own if c["index"] == step)
    return [[rank, step] + [(part(this, n) - statistics.median(part(c, n) for c in own)) / 1e6 for n in names]]


def loading(reports):
    rows = []
    for name, report in reports.items():
        all_of = [c["figures"] for _, c in cycles(report)]
        means = [sum(f[k] for f in all_of) / 1e6 / len(all_of) for k in ("wait_exposed", "wait")]
        rows.append([name, None, *means, len(report["ranks"])])
    return sorted(rows, key=lambda r: -r[2])


def mean_step(reports):
    def means(report):
        all_of = [c for _, c in cycles(report)]
        parts = [[part(c, n) for c in all_of] for n in ("compute", "comm", "h2d", "wait_exposed", "gc", "host")]
        return [sum(v) / len(all_of) for v in [[c["time"] for c in all_of], *parts]]

    return [[(a - b) / 1e6 for a, b in zip(means(reports["after"]), means(reports["before"]))]]


def slower_ranks(reports):
    def medians(report):
        by = collections.defaultdict(list)
        for rank, c in cycles(report):
            by[rank].append(part(c, "compute"))
        return {r: statistics.median(v) for r, v in by.items()}

    before, after = medians(reports["before"]), medians(reports["after"])
    rows = [[r, before[r] / 1e6, after[r] / 1e6, (after[r] - before[r]) / 1e6] for r in after if r in before]
    return sorted(rows, key=lambda r: (-r[3], r[0]))[:3]


def kernels(reports):
    """Q7: the report has kernels that compute or communicate, which change most."""
    by = collections.defaultdict(dict)
    for name, report in reports.items():
        judged = len(cycles(report))
        for rank in report["compare"]["ranks"]:
            for k in rank["kernels"]:
                by[k["name"]][name] = by[k["name"]].get(name, 0) + k["time"] / judged
    rows = []
    for kernel, ns in by.items():
        b, a = ns.get("before", 0), ns.get("after", 0)
        state = "new" if not b else "gone" if not a else "both"
        rows.append([kernel, b / 1e6, a / 1e6, (a - b) / 1e6, state])
    return sorted(rows, key=lambda r: (-abs(r[3]), r[0]))[:4]


def waiting(reports, found):
    """Q8 of all steps; how long collectives are, the traces themselves say."""
    rows = []
    for (name, report), row in zip(sorted(reports.items()), found):
        n = report["job"]["collectives"]["matched"] * report["job"]["recorded"]
        waited = sum(late["waited"] for late in report["job"]["late"]) / 1e6
        traces = [json.loads(pathlib.Path(s["path"]).read_text()) for s in report["sources"]]
        lengths = [e["dur"] for t in traces for e in t["traceEvents"] if e["name"].startswith("ncclDevKernel")]
        assert len(lengths) == n
        rows.append([name, *row[1:3], n, waited / n, (sum(lengths) / 1e3 - waited) / n])
    return rows


def pattern(reports):
    rows = []
    for name, report in sorted(reports.items()):
        costs = [late["cost"] for late in report["job"]["late"] if late["cost"]]
        share = max(costs) * 100 / sum(costs)
        rows.append([name, len(costs), share, "persistent" if share >= 80 else "wandering" if share < 50 else "mixed"])
        assert rows[-1][3] == report["job"]["pattern"]
    return rows


def wanted(query, reports, found):
    makers = {
        "Q1": late_ones,
        "Q2": worst_steps,
        "Q3": lambda r: why(r, found),
        "Q4": loading,
        "Q5": mean_step,
        "Q6": slower_ranks,
        "Q7": kernels,
        "Q8": lambda r: waiting(r, found),
        "Q9": pattern,
    }
    return makers[query](reports)


def read_alike(out):
    """What is wrong with the files: all engines read the same from each, as many rows as the index says."""
    index, wrong = json.loads((out / "_stallscope.json").read_text()), []
    kinds = {"string": "STRING", "int32": "I32", "int64": "I64", "bool": "BOOL"}
    for file in sorted(out.glob("*/*.parquet")):
        run, table = file.name.split(".")[0], file.parent.name
        schema = pyarrow.parquet.read_schema(file)
        columns = [(f.name, kinds[str(f.type)]) for f in schema]
        sums = [by_duckdb(f"'{file}'", columns), by_polars(file, columns), by_pyarrow(file, columns)]
        if sums[1:] != sums[:-1]:
            wrong.append(f"{file}: {sums}")
        rows, told = pyarrow.parquet.read_metadata(file).num_rows, index["runs"][run]["rows"][table]
        meta = {k.decode(): v.decode() for k, v in schema.metadata.items()}
        if (rows, run, table) != (told, meta["stallscope.run"], meta["stallscope.table"]):
            wrong.append(f"{file}: {rows} rows, the index says {told}; {meta}")
    return wrong


def unlike_the_report(out, reports):
    """Ranks, arrivals and notices against what the report says of the same traces."""
    wrong = []

    def hold(what, text, wanted):
        found = duckdb.sql(text).fetchall()
        if found != wanted:
            wrong.append(f"{what}: {found}, the report says {wanted}")

    for name, report in reports.items():
        job, of_run = report["job"], f"WHERE run = '{name}'"
        ranks, arrivals, notices = (f"'{out}/{t}/*.parquet' {of_run}" for t in ("ranks", "arrivals", "notices"))
        late = [(r["rank"], r["last"] + r["last_shared"], r["waited"], r["cost"]) for r in job["late"]]
        hold("late ranks", f"SELECT rank, last, waited, cost FROM {ranks} ORDER BY rank", late)
        own = sorted((int(n), r["verdict"], r["loop"]) for n, r in report["ranks"].items())
        keys = ["wait", "wait_exposed", "wait_hidden", "wait_unrecorded"]
        rows = [(n, v["verdict"], v["n_judged"], loop["n_steps"], *(loop[k] for k in keys)) for n, v, loop in own]
        hold("ranks", f"SELECT rank, verdict, judged, steps, {', '.join(keys)} FROM {ranks} ORDER BY rank", rows)
        collectives = job["collectives"]
        text = f"SELECT COUNT(*), SUM(CASE WHEN late_ranks = recorded THEN 1 ELSE 0 END), SUM(waited)::BIGINT FROM {arrivals}"
        hold("arrivals", text, [(collectives["matched"], collectives["together"], sum(r["waited"] for r in job["late"]))])
        hold("notices", f"SELECT COUNT(*) FROM {notices} AND level = 'error'", [(0,)])
    return wrong


def plain(found):
    return [[float(v) if not isinstance(v, (str, int, bool, type(None))) else v for v in row] for row in found]


def main(program, make_trace, work, engines):
    out, reports = pathlib.Path(work, "own"), {}
    for name, twists in JOBS.items():
        folder = pathlib.Path(work, f"job_{name}")
        folder.mkdir()
        sizes = ["--gpus", 4, "--steps", 24, "--item-ms", 2, "--blocks", 1]
        run(make_trace, "torch", folder / "run.json", *sizes, *twists)
        run(program, "ranks", folder, "--run", name, "--out", out, "--spans", "all")
        reports[name] = json.loads(run(program, "report", folder, "--json"))
    faults = read_alike(out) + unlike_the_report(out, reports)
    for line in faults:
        print("WRONG", line)
    wrong = len(faults)
    for engine in engines:
        ask = ENGINES[engine](out)
        for query, text in queries():
            begun = time.monotonic()
            found = plain(ask(text.replace(LATER, "") if query in OF_ALL_STEPS else text))
            answer = wanted(query, reports, found)
            fine = same(answer, found)
            wrong += not fine
            verdict = "as the report" if fine else f"WRONG: {found}, the report says {answer}"
            print(f"{engine} {query}: {verdict} ({time.monotonic() - begun:.2f} s)")
    return 1 if wrong else 0


if __name__ == "__main__":
    sys.exit(main(*sys.argv[1:4], sys.argv[4:]))
