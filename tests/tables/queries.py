#!/usr/bin/env python3
"""queries.py TABLES ANSWERS ENGINE...: runs docs/sql/queries.sql in each engine on tables; the answers must be those of a file."""

import json
import math
import pathlib
import sys
import time

ROOT = pathlib.Path(__file__).resolve().parents[2]


def queries():
    """(name, text) of each query."""
    text = (ROOT / "docs/sql/queries.sql").read_text()
    for part in text.split("\n-- Q")[1:]:
        head, body = part.split("\n", 1)
        yield "Q" + head.split()[0], body.split(";")[0]


def tables(root):
    return sorted(p.name for p in pathlib.Path(root).iterdir() if p.is_dir())


def duckdb(root):
    import duckdb

    base = duckdb.connect()
    for name in tables(root):
        base.execute(f"CREATE VIEW {name} AS SELECT * FROM read_parquet('{root}/{name}/*.parquet')")
    return lambda text: base.execute(text).fetchall()


def polars(root):
    import polars

    base = polars.SQLContext({n: polars.scan_parquet(f"{root}/{n}/*.parquet") for n in tables(root)})
    return lambda text: base.execute(text).collect().rows()


def spark(root):
    from pyspark.sql import SparkSession

    builder = SparkSession.builder.master("local[2]").config("spark.ui.enabled", "false")
    for key in ("bindAddress", "host"):
        builder = builder.config(f"spark.driver.{key}", "127.0.0.1")
    base = builder.config("spark.sql.shuffle.partitions", "4").getOrCreate()
    base.sparkContext.setLogLevel("ERROR")
    for name in tables(root):
        base.read.parquet(f"{root}/{name}").createOrReplaceTempView(name)
    return lambda text: [tuple(row) for row in base.sql(text).collect()]


ENGINES = {"duckdb": duckdb, "polars": polars, "spark": spark}


def same(wanted, found):
    if isinstance(wanted, (list, tuple)):
        return len(wanted) == len(found) and all(map(same, wanted, found))
    if wanted is None or isinstance(wanted, (str, bool)):
        return wanted == found
    return math.isclose(wanted, float(found), rel_tol=1e-9, abs_tol=1e-9)


def main(root, answers, engines):
    wanted = json.loads(pathlib.Path(answers).read_text())
    asked = dict(queries())
    assert set(asked) == set(wanted), "queries and answers differ"
    wrong = 0
    for engine in engines:
        ask = ENGINES[engine](root)
        for name, text in asked.items():
            begun = time.monotonic()
            found = ask(text)
            fine = same(wanted[name], found)
            wrong += not fine
            print(f"{engine} {name}: {'as it should be' if fine else f'WRONG: {found}'} ({time.monotonic() - begun:.2f} s)")
    return 1 if wrong else 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1], sys.argv[2], sys.argv[3:]))
