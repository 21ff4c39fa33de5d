#!/usr/bin/env python3
"""A campaign of odd inputs and command lines against the built program: fuzz/campaign/run.py [--seconds N] [--seed N]

Each number makes a case, always the same one: files with something done to them, and a command on them. The program must end by
itself with a code from 0 to 4, without a panic; JSON, CSV, PNG, SVG and Parquet must be whole, text must be free of control
characters, nothing may be written but what was asked for; one thread and two must come to the same; and events that went in must
be in the timeline or told as lost, where that can be known. What fails is kept as a folder, with the line that runs it again.

    --program P    what is run; by default the debug build
    --seed N       the first case; by default 1
    --count N      so many cases
    --seconds N    for so long; by default 120
    --replay       only the corpus: failures that were mended (it is replayed before every campaign)
    --keep DIR     where failures go; by default target/campaign
"""

import argparse
import json
import os
import shlex
import shutil
import sys
import tempfile
import time
from pathlib import Path

HERE = Path(__file__).resolve().parent
sys.path.insert(0, str(HERE))

import cases  # noqa: E402
import holds  # noqa: E402
import inputs  # noqa: E402

CORPUS = HERE / "corpus"


def target():
    return Path(os.environ.get("CARGO_TARGET_DIR", inputs.ROOT / "target"))


def keep(case, faults, into):
    """Writes a failure as a folder: its files, what is run on them, what did not hold."""
    folder = into / f"case-{case.seed}"
    holds.put(case, folder / "files")
    about = {
        "args": case.args, "output": case.output, "during": case.during, "events": case.events, "exact": case.exact, "faults": faults,
    }
    (folder / "case.json").write_text(json.dumps(about, indent=1) + "\n")
    return folder


def kept(folder):
    about = json.loads((folder / "case.json").read_text())
    files = sorted(p for p in (folder / "files").rglob("*") if p.is_file())
    return cases.Case(
        seed=0, files=[(str(p.relative_to(folder / "files")), p.read_bytes()) for p in files], args=about["args"],
        output=about.get("output", ""), during=tuple(about.get("during", ())), events=about.get("events", -1), exact=about.get("exact", False),
    )


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--program")
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--count", type=int)
    parser.add_argument("--seconds", type=float)
    parser.add_argument("--replay", action="store_true")
    parser.add_argument("--keep")
    parser.add_argument("--stop", type=int, default=20, help="end after so many failures")
    args = parser.parse_args()
    program = str(Path(args.program or target() / "debug" / "stallscope").resolve())
    if not Path(program).exists():
        sys.exit(f"there is no program {program}: build it, or name it with --program")
    into = Path(args.keep or target() / "campaign")
    memory = Path("/dev/shm")
    work = Path(tempfile.mkdtemp(prefix="stallscope-campaign-", dir=memory if memory.is_dir() else None))
    try:
        sys.exit(campaign(program, args, into, work))
    finally:
        shutil.rmtree(work, ignore_errors=True)


def saved(program, pool, work):
    """A report that the program saves of a recording."""
    case = cases.Case(seed=0, files=[("a.json", pool["torch4"])], args=["report", "--json", "a.json"])
    result, _ = holds.run(program, case, work / "saved", 1)
    if not result.out.startswith(b"{"):
        raise SystemExit(f"no report to save: {result.err[:500]!r}")
    return result.out


def campaign(program, args, into, work):
    pool = inputs.Inputs()
    pool.add("saved", saved(program, pool, work))
    failed = runs = done = unable = 0
    for folder in sorted(CORPUS.iterdir()) if CORPUS.is_dir() else []:
        if not (folder / "case.json").exists():
            continue
        faults, n = holds.judge(program, kept(folder), work / "case")
        runs += n
        done += 1
        if faults:
            failed += 1
            print(f"corpus {folder.name}: {'; '.join(faults)}", flush=True)
    print(f"{done} of the corpus, {failed} failed", flush=True)
    if args.replay:
        return 1 if failed else 0
    end = time.monotonic() + (args.seconds if args.seconds is not None else 10**9 if args.count else 120)
    seed = args.seed
    # Seconds end a campaign, a count makes it exact.
    while time.monotonic() < end and (args.count is None or seed < args.seed + args.count) and failed < args.stop:
        case = cases.make(seed, pool)
        try:
            faults, n = holds.judge(program, case, work / "case")
        except (ValueError, OSError) as error:
            # A word that no program can be given, such as one with a zero byte, or a name that no file can have.
            if not isinstance(error, ValueError) and error.errno not in (22, 36):
                raise
            faults, n = [], 0
            unable += 1
        runs += n
        if faults:
            failed += 1
            folder = keep(case, faults, into)
            print(f"case {seed}: {'; '.join(faults)}\n  (cd {shlex.quote(str(folder / 'files'))} && {shlex.join([program, *case.args])})")
            print(f"  fuzz/campaign/run.py --seed {seed} --count 1", flush=True)
        seed += 1
        if (seed - args.seed) % 1000 == 0:
            print(f"{seed - args.seed} cases, {runs} runs of the program", flush=True)
    print(f"cases {args.seed} to {seed - 1}: {runs} runs of the program, {failed} failed, {unable} with words that no program can be given")
    return 1 if failed else 0


if __name__ == "__main__":
    main()
