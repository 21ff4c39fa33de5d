#!/usr/bin/env python3
"""sums.py PROGRAM WORK: exports tables of real traces as Parquet and CSV. The sum of every column must be the same in DuckDB,
Polars and PyArrow, from both forms, and those that `report --json` tells too must be what it tells."""

import json
import pathlib
import subprocess
import sys

import duckdb
import polars
import pyarrow.parquet

ROOT = pathlib.Path(__file__).resolve().parents[2]
SHARED = ROOT.parent / "shared"
TRACES = [
    *(ROOT / "sample_traces" / n for n in ("torch_0_workers.json.gz", "torch_4_workers.json.gz", "torch_real_rank1.json.gz")),
    *(ROOT / "sample_traces" / n for n in ("nsight_2_workers.sqlite", "dftracer_2_workers")),
    SHARED / "traces/pairs/synthetic/w2_collate",
    SHARED / "traces/pairs/ranks2",
    *sorted((SHARED / "traces/torch").glob("AMD-AGI-TraceLens__mi300*")),
]
TABLES = ["steps", "waits", "kernels", "collectives", "spans"]


def run(program, *args):
    return subprocess.run([program, *map(str, args)], capture_output=True, text=True)


def number(name, kind):
    """What is added up of a column: numbers as they are, truth values that hold, lengths of texts; nulls count apart."""
    if kind == "STRING":
        return f'LENGTH("{name}")'
    return f'CAST("{name}" AS BIGINT)'


def by_duckdb(file, columns):
    parts = []
    for name, kind in columns:
        parts += [f'SUM({number(name, kind)})::VARCHAR', f'COUNT("{name}")::VARCHAR']
    return [int(v or 0) for v in duckdb.sql(f"SELECT {', '.join(parts)} FROM {file}").fetchall()[0]]


def by_polars(file, columns):
    frame = polars.read_parquet(file)
    out = []
    for name, kind in columns:
        column = frame[name]
        values = column.str.len_chars() if kind == "STRING" else column
        out += [int(values.cast(polars.Int64).sum() or 0), len(column) - column.null_count()]
    return out


def by_pyarrow(file, columns):
    table = pyarrow.parquet.read_table(file)
    out = []
    for name, kind in columns:
        known = [v for v in table.column(name).to_pylist() if v is not None]
        out += [sum(len(v) if kind == "STRING" else int(v) for v in known), len(known)]
    return out


def told(report):
    """What the report says: table, condition, column, sum."""
    zero = report["t0"]
    for number, rank in report["ranks"].items():
        own = f"rank = {number}"
        loop = rank["loop"] or {"steps": [], "waits": []}
        yield "steps", own, "1", len(loop["steps"])
        for key in ("time", "first"):
            yield "steps", own, f'CAST("{key}" AS BIGINT)', sum(int(s[key]) for s in loop["steps"])
        yield "steps", own, "start", sum(s["start"] - zero for s in loop["steps"])
        yield "waits", own, "1", len(loop["waits"])
        yield "waits", own, "dur", sum(w["end"] - w["start"] for w in loop["waits"])
        known = [w for w in loop["waits"] if w["cause"]["level"] or w["cause"]["kind"] == "end"]
        yield "waits", f"{own} AND cause IS NOT NULL", "dur", sum(w["end"] - w["start"] for w in known)
    for rank in report["compare"]["ranks"]:
        judged = f"rank = {rank['rank']} AND judged"
        cycles = rank["cycles"]
        yield "steps", judged, "1", len(cycles)
        yield "steps", judged, "cycle", sum(c["time"] for c in cycles)
        yield "steps", judged, "gpu_lag", sum(c["gpu_lag"] or 0 for c in cycles)
        for key in cycles[0]["figures"] if cycles else []:
            yield "steps", judged, key, sum(c["figures"][key] or 0 for c in cycles)
        for prefix, parts in (("part_", "gpu_parts"), ("phase_", "cpu_parts")):
            for name in {n for c in cycles for n in c[parts] or {}}:
                column = prefix + name.removeprefix("idle_")
                yield "steps", judged, column, sum((c[parts] or {}).get(name, 0) for c in cycles)
        kernels = f"rank = {rank['rank']} AND layer IN ('gpu.compute', 'gpu.comm')"
        yield "kernels", kernels, "n", sum(k["count"] for k in rank["kernels"])
        yield "kernels", kernels, "sum", sum(k["time"] for k in rank["kernels"])


def main(program, work):
    wrong, compared = [], 0
    for trace in TRACES:
        files = {}
        for table in TABLES:
            parquet, csv = pathlib.Path(work, f"{table}.parquet"), pathlib.Path(work, "t.csv")
            made = run(program, "export", trace, f"--{table}", "-o", parquet)
            if made.returncode == 4:
                continue
            assert made.returncode == 0, f"{trace} {table}: {made.stderr}"
            assert run(program, "export", trace, f"--{table}", "--raw", "-o", csv).returncode == 0
            files[table] = parquet
            schema = pyarrow.parquet.read_schema(parquet)
            meta = {k.decode(): v.decode() for k, v in schema.metadata.items()}
            assert meta["stallscope.schema"] == "1" and meta["stallscope.table"] == table, meta
            kinds = {"string": "STRING", "int32": "I32", "int64": "I64", "bool": "BOOL"}
            columns = [(f.name, kinds[str(f.type)]) for f in schema]
            sql = {"STRING": "VARCHAR", "I32": "INTEGER", "I64": "BIGINT", "BOOL": "BOOLEAN"}
            types = ", ".join(f"'{n}': '{sql[k]}'" for n, k in columns)
            # An empty cell without quotes is null.
            as_csv = f"read_csv('{csv}', auto_detect = false, header = true, delim = ',', quote = '\"', escape = '\"', columns = {{{types}}}, nullstr = '', allow_quoted_nulls = false, max_line_size = 16777216)"
            sums = {
                "DuckDB": by_duckdb(f"'{parquet}'", columns),
                "Polars": by_polars(parquet, columns),
                "PyArrow": by_pyarrow(parquet, columns),
                "CSV": by_duckdb(as_csv, columns),
            }
            compared += len(columns)
            if any(s != sums["DuckDB"] for s in sums.values()):
                wrong.append(f"{trace.name} {table}: {sums}")
        report = json.loads(run(program, "report", trace, "--json").stdout)
        for table, where, what, wanted in told(report):
            if table not in files:
                found = 0
            else:
                found = duckdb.sql(f"SELECT SUM({what}) FROM '{files[table]}' WHERE {where}").fetchall()[0][0] or 0
            compared += 1
            if found != wanted:
                wrong.append(f"{trace.name} {table}.{what} where {where}: {found}, the report says {wanted}")
    print(f"{compared} sums of {len(TRACES)} traces compared")
    for line in wrong:
        print("WRONG", line)
    return 1 if wrong or compared < 1000 else 0


if __name__ == "__main__":
    sys.exit(main(*sys.argv[1:]))
