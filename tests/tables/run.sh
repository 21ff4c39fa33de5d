#!/usr/bin/env bash
# Reads the tables with other programs: DuckDB, Polars and PyArrow, in a Python environment that is made for it and thrown
# away. `--spark` asks Spark too, where a Java runtime is installed. PROGRAM is the stallscope to ask and MAKE_TRACE what simulates;
# else the tests' ones.
set -euo pipefail
cd "$(dirname "$0")/../.."

shared=../shared/tables
if [ ! -d "$shared" ]; then
    echo "SKIPPED: $shared is missing"
    [ "${STALLSCOPE_REQUIRE_SHARED:-}" != 1 ]
    exit
fi

work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
packages=(duckdb polars pyarrow numpy)
engines=(duckdb polars)
if [ "${1:-}" = --spark ]; then
    command -v java >/dev/null || { echo "Spark needs a Java runtime: install one (Debian: default-jre-headless) and run again."; exit 1; }
    packages+=(pyspark)
    engines+=(spark)
fi

# Some systems have python3 without what makes environments.
if ! python3 -m venv "$work/python" >/dev/null 2>&1; then
    root=()
    [ "$(id -u)" -eq 0 ] || root=(sudo)
    "${root[@]}" apt-get update
    DEBIAN_FRONTEND=noninteractive "${root[@]}" apt-get install -y --no-install-recommends python3-venv
    rm -rf "$work/python"
    python3 -m venv "$work/python"
fi
"$work/python/bin/pip" install --quiet --disable-pip-version-check "${packages[@]}"

program=${PROGRAM:-${CARGO_TARGET_DIR:-target}/debug/stallscope}
make_trace=${MAKE_TRACE:-${CARGO_TARGET_DIR:-target}/debug/examples/make_trace}
if [ -z "${PROGRAM:-}" ] || [ -z "${MAKE_TRACE:-}" ]; then
    cargo build --locked --bin stallscope --example make_trace
fi

python=$work/python/bin/python
"$python" "$shared/make_tables.py" "$work/made" 1024 100 1 >"$work/truth.json"
"$python" tests/tables/queries.py "$work/made" "$shared/ANSWERS.json" "${engines[@]}"
"$python" tests/tables/sums.py "$program" "$work"
"$python" tests/tables/own.py "$program" "$make_trace" "$work" "${engines[@]}"
