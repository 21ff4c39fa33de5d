"""A case: files, a command on them, what must hold. Equal seeds give equal cases."""

import json
import random as randoms
from dataclasses import dataclass, field

import inputs
import mutations
from inputs import NAMES, TRACES

# Of each the first four are good.
RANGES = [
    "0..1ms", "..", "1ms..", "..2ms", "0..0", "5ms..1ms", "-1s..1s", "1..2", "0.5ns..1us", "1e3ms..2s", "99999999999999s..", "0..9223372036854775807ns",
    "1ms..1ms", "a..b", "", "0ms..1h", "2s..3s", "100us..101us", "٣ms..4ms", "..0",
]
TIMES = ["1ms", "20ms", "100us", "1ns", "0", "-1ms", "1us", "99999999999999999s", "1e-9s", "0.1ms", "abc", "10"]
SHARES = ["5%", "0%", "100%", "12.5%", "101%", "-1%", "0.0001%", "5", "NaN%", "99999999999999999999%", "%"]
SMALL = ["1", "2", "3", "4", "0", "7", "255", "256", "4294967295", "4294967296", "-1", "18446744073709551615", "x", "1.5", ""]
LANES = ["C1.1", "C4200.4200", "C500.500", "C7.7", "G0.7", "", "x", "C1.1.1"]


@dataclass
class Case:
    """What is run."""

    seed: int
    # Name and bytes of each file; a name may have folders.
    files: list = field(default_factory=list)
    # Words behind the program's name; they name files as they are in the folder of the case.
    args: list = field(default_factory=list)
    # The file to write, if any.
    output: str = ""
    # What happens to a file while it is read: its name, milliseconds to wait, what to do.
    during: tuple = ()
    # Events that went in, where it is known what of them must come out or be told as lost; the share that is exact.
    events: int = -1
    exact: bool = False


def make(seed, pool):
    random = randoms.Random(seed)
    case = Case(seed)
    kind = random.choices(
        ["one", "several", "counted", "compare", "session", "rules", "folder", "during", "words"],
        [30, 10, 18, 8, 5, 6, 8, 5, 10],
    )[0]
    globals()["make_" + kind](random, case, pool)
    return case


def one_file(random, case, pool, name=None, changed=True):
    """Puts a trace into the case and says its name."""
    name = name or random.choice(TRACES)
    data = pool[name]
    if changed:
        data = mutations.change(random, name, data, [pool[n] for n in ("torch4", "lines", "table", "chrome")])
    file = NAMES[name] if random.random() < 0.9 else "odd name.bin"
    while file in dict(case.files):
        file = "x" + file
    case.files.append((file, data))
    return file


def make_one(random, case, pool):
    file = one_file(random, case, pool)
    command(random, case, [file])


def make_several(random, case, pool):
    files = [one_file(random, case, pool, changed=random.random() < 0.5) for _ in range(random.choice([2, 2, 3, 5]))]
    command(random, case, files)


def make_folder(random, case, pool):
    """A run in a folder, as a recorder leaves it: that of the recording helper, or whatever comes."""
    names = ["loop", "worker"] if random.random() < 0.6 else [random.choice(TRACES) for _ in range(3)]
    for name in names:
        one_file(random, case, pool, name, changed=random.random() < 0.7)
    case.files = [("run/" + n, d) for n, d in case.files]
    if random.random() < 0.2:
        case.files.append(("run/deep/er/a.json", pool["chrome"]))
    command(random, case, ["run"])


def make_rules(random, case, pool):
    file = one_file(random, case, pool, changed=False)
    case.files.append(("rules.toml", mutations.change(random, "rules", pool["rules"], [pool["rules"], pool["chrome"]])))
    command(random, case, [file], ["--rules", "rules.toml"])


def make_session(random, case, pool):
    file = one_file(random, case, pool, changed=random.random() < 0.2)
    text = pool["session"].replace(b"a.json", file.encode())
    if random.random() < 0.6:
        text = mutations.change(random, "session", text, [pool["session"], pool["chrome"]])
    else:
        try:
            whole = json.loads(text)
            part = random.choice([whole, whole["look"], whole["files"][0]])
            part[random.choice(list(part))] = mutations.odd(random)
            text = mutations.dumped(whole)
        except ValueError:
            pass
    case.files.append(("a.session.json", text))
    form = random.choice(["png", "svg"])
    case.output = "out." + form
    case.args = [form, "--session", "a.session.json", "-o", case.output]
    if random.random() < 0.3:
        case.args.insert(1, file)


def make_compare(random, case, pool):
    """Two or more recordings of one kind; also reports that were saved, which are inputs too."""
    name = random.choice(["torch0", "torch4", "loop", "lines", "sqlite", "rank0"])
    files = [one_file(random, case, pool, name, changed=random.random() < 0.6) for _ in range(random.choice([2, 2, 4]))]
    if random.random() < 0.4:
        case.files.append(("saved.json", mutations.change(random, "saved", pool["saved"], [pool["chrome"]])))
        files[0] = "saved.json"
    if random.random() < 0.3:
        limits = random.sample([["--max-slowdown", Values(random, False).of(SHARES)], ["--max-step-time", "1ms"], ["--allow-other-program"]], 2)
        case.args = ["check", *files[1:], *sum(limits, []), "--against", files[0]]
        return
    of = Values(random, False).of
    options = [
        ["--json"], ["--csv"], ["--steps", random.choice(["explicit", "fetch", "optimizer", "x"])], ["--limit", of(SHARES)],
        ["--rank", random.choice(["0", "1"])],
    ]
    if len(files) > 2:
        files = [files[0], files[1], "--after", *files[2:]]
    if random.random() < 0.2:
        files[0] = files[0] + "+" + files[-1]
    case.args = ["compare", *sum(random.sample(options, random.choice([0, 1, 1, 2])), []), *files]


def make_during(random, case, pool):
    """A file that somebody cuts, fills, exchanges or takes away while it is read."""
    name = random.choice(["torch0", "sqlite", "lines", "torch.gz", "zip", "table"])
    file = one_file(random, case, pool, name, changed=False)
    # Long enough that the change meets the reading.
    data = dict(case.files)[file]
    if name == "lines":
        data = data * 400
    elif name == "table":
        data = inputs.plain_table(60_000)
    case.files = [(file, data)]
    what = random.choice(["cut", "empty", "fill", "replace", "remove", "grow"])
    case.during = (file, random.choice([0, 2, 5, 10, 20, 40]), what)
    command(random, case, [file])


def make_words(random, case, pool):
    """A good file and a bad command line."""
    file = one_file(random, case, pool, random.choice(["torch4", "loop", "chrome"]), changed=False)
    command(random, case, [file], bad=True)
    if random.random() < 0.3:
        at = random.randrange(len(case.args) + 1)
        case.args.insert(at, random.choice(["--", "-", "", "--json", "--csv", "--color", "always", "\x1b[1m", "nowhere.json", "-o", "--help"]))
        case.output = ""


def make_counted(random, case, pool):
    """Of so many events that go in, as many come out or are told as lost."""
    form = random.choice([counted_chrome, counted_torch, counted_lines, counted_table, counted_rows, counted_pages, counted_members])
    name, data, case.events, case.exact = form(random, pool)
    case.files = [(name, data)]
    case.args = ["info", "--json", name]


def chosen(random, n):
    """How many there are, and the places of some."""
    n = n or random.choice([1, 2, 10, 40, 200])
    return n, random.sample(range(n), random.randrange(min(n, 6)))


def spoiled(random, event):
    key, value = random.choice([("ts", None), ("ts", "soon"), ("dur", "long"), ("ts", {}), ("dur", [1]), ("ph", 5)])
    event[key] = value


def counted_chrome(random, _pool):
    n, bad = chosen(random, 0)
    whole = json.loads(inputs.plain_chrome(n))
    for i in bad:
        spoiled(random, whole[i])
    data = b"[\n" + b",\n".join(mutations.dumped(e) for e in whole) + b"\n]\n"
    if random.random() < 0.3:
        # Cut inside an event: what stands before is whole, the rest is gone and nobody can count it.
        data = data[: random.randrange(2, len(data))]
        return "a.json", data, data.count(b'"ph":'), False
    return "a.json", data, n, True


def counted_torch(random, pool):
    whole = json.loads(pool["torch0"])
    spans = [e for e in whole["traceEvents"] if e["ph"] == "X"]
    n, bad = chosen(random, len(spans))
    for i in bad:
        spoiled(random, spans[i])
    return "a.json", mutations.dumped(whole), n, True


def counted_lines(random, _pool):
    n, bad = chosen(random, 0)
    rows = inputs.plain_lines(n).splitlines()
    for i in bad:
        rows[1 + i] = random.choice([b"{broken", b'{"id":1}}', rows[1 + i][: len(rows[1 + i]) // 2], rows[1 + i].replace(b'"ts"', b'"tx"')])
    data = b"\n".join(rows) + b"\n"
    form = random.choice(["plain", "gzip", "tar"])
    if form == "gzip":
        half = data.index(b"\n", len(data) // 2) + 1
        return "a.pfw.gz", inputs.packed(data[:half]) + inputs.packed(data[half:]), n, True
    if form == "tar":
        return "a.tar", inputs.tar_of([("a.pfw", data)]), n, True
    return "a.pfw", data, n, True


def counted_table(random, _pool):
    n, bad = chosen(random, 0)
    rows = inputs.plain_table(n).splitlines()
    for i in bad:
        rows[1 + i] = random.choice([b"soon,1,a,b", b",5,a,b", b"1,-,x,y", b"9e99,1,far,x"])
    return "a.csv", b"\n".join(rows) + b"\n", n, True


def counted_rows(random, pool):
    """A database with times that are none."""
    data, n = mutations.wrong_times(random, pool["sqlite"])
    return "a.sqlite", data, n, True


def counted_pages(random, pool):
    """A database with pages of nothing, or without its end."""
    data, n = mutations.wrong_times(random, pool["sqlite"], 0)
    size = mutations.page_size(data)
    pages = len(data) // size
    for _ in range(random.choice([1, 1, 2, 5])):
        at = size * random.randrange(1, pages)
        data = data[:at] + b"\0" * size + data[at + size :]
    return "a.sqlite", data, n, False


def counted_members(random, _pool):
    """Compressed lines in several members, with damage in the middle of one."""
    parts = [inputs.packed(inputs.plain_lines(30, 1_700_000_000_000_000 + 1000 * i)) for i in range(3)]
    at = random.randrange(3)
    part = bytearray(parts[at])
    place = random.randrange(20, len(part) - 8)
    part[place] ^= 1 << random.randrange(8)
    if random.random() < 0.3:
        part = part[:place]
    parts[at] = bytes(part)
    return "a.pfw.gz", b"".join(parts), 90, False


class Values:
    """Values of options: good ones, or any where bad ones are what is tried."""

    def __init__(self, random, bad):
        self.random, self.bad = random, bad

    def of(self, values):
        any_of = self.bad or self.random.random() < 0.15
        return self.random.choice(values if any_of else values[:4])


def some(random, options, most=3):
    chosen = random.sample(options, random.randrange(min(len(options), most) + 1))
    return [word for option in chosen for word in option]


def command(random, case, files, more=(), bad=False):
    """A command on files, with options; bad ones more often where they are what is tried."""
    of = Values(random, bad).of
    scope = [
        ["--range", of(RANGES)],
        ["--rank", of(["0", "0", "1", "0", *SMALL])],
        ["--loop", of(LANES)],
        ["--max-drift", of(SMALL)],
        ["--trust-clocks"],
        ["--shift", of(["1=5ms", "1=-1s", "1=0", "2=1us", "0=1s", "1=9223372036854775807ns", "1=-9223372036854775807ns", "x"])],
    ]
    weights = [6, 3, 2, 1, 2, 2]
    chosen = [s for s, w in zip(scope, weights) if random.randrange(30) < w * (3 if bad else 1)]
    scope = [word for option in chosen for word in option] + list(more)
    only = ",".join(random.sample(["verdict", "waits", "ranks", "gpu", "memory", "layers", "steps", "workers", "launches", "lag", "syncs", "streams", "names", "notices"], 3))
    window = of(TIMES)
    shape = random.choices(range(10), [14, 30, 8, 6, 8, 12, 6, 10, 3, 3])[0]
    if shape == 0:
        case.args = ["info", *random.choice([[], ["--json"]]), *files]
    elif shape == 1:
        way = random.choice(
            [
                [], ["--json"], ["--json", "--brief"], ["--brief"], ["--markdown"], ["--csv"], ["--only", only], ["--windows", window],
                ["--windows", window, "--json"], ["--by", "name"], ["--by", "name", "--csv"], ["--by", "name", "--json", "--top", of(SMALL)],
                ["--layers", "dfanalyzer", "--windows", "1ms"], ["--by", "name", "--layer", random.choice(["io", "op", "x", ""])],
            ]
        )
        case.args = ["report", *way, *scope, *files]
    elif shape == 2:
        limits = [
            ["--max-exposed-wait", of(SHARES)], ["--max-stall", of(SHARES)], ["--max-step-time", of(TIMES)],
            ["--max-late-rank", of(SHARES)], ["--min-judged", of(SHARES)], ["--max-clock-error", of(TIMES)],
            ["--expect", of(["INPUT_BOUND", "COMPUTE_BOUND,NO_SINGLE_BOUND", "INPUT_BOUND", "COMPUTE_BOUND", "x"])], ["--min-overlap", of(["7:16=50%", "7:7=1%", "7:20=0%", "7:8=5%", "a:b=c", "7:16"])],
        ]
        case.args = ["check", *scope, *some(random, limits, 4), *files]
    elif shape == 3:
        options = [["--workers", of(["0..4", "3", "0", "0..256", "4..2", "300", "x"])], ["--cores", of(SMALL)],
                   ["--cache", of(["0", "1", "0.5", "0.01", "2", "NaN", "-0"])], ["--no-sync"], ["--json"]]
        case.args = ["whatif", *scope, *some(random, options), *files]
    elif shape == 4:
        options = [["--wait", of(SMALL)], ["--step", random.choice(["0", "1", "ProfilerStep#3", "x", ""])], ["--top", of(SMALL)], ["--json"]]
        case.args = ["why", *scope, *some(random, options, 2), *files]
    elif shape == 5:
        what = random.choice(["--steps", "--waits", "--kernels", "--collectives", "--spans"])
        case.output = random.choice(["out.csv", "out.parquet", "-", "out.csv"])
        options = [["--layers", random.choice(["op", "gpu,io", "x"])], ["--run", random.choice(mutations.TEXTS[:6])], ["--raw"]]
        options = [o for o in options if all("\0" not in w for w in o)]
        case.args = ["export", what, *scope, *some(random, options, 1), *files, "-o", case.output]
    elif shape == 6:
        case.output = random.choice(["out.json", "out.json.gz", "-"])
        trim = of(RANGES)
        case.args = ["export", "--trim", trim, *more, *files, "-o", case.output]
    elif shape == 7:
        form = random.choice(["png", "svg"])
        case.output = random.choice(["out." + form, "out." + form, "-"])
        options = [["--range", of(RANGES)], ["--wait", of(SMALL)], ["--width", of(["640", "2000", "900", "1920", "16384", "639", "x"])],
                   ["--lanes", random.choice(["all", "band", "shown"])], ["--only-lanes", random.choice(["main", "", "stream", "zzz"])],
                   ["--title", random.choice(["", "a<b>&\x1b[1m", "t" * 400])], ["--theme", of(["dark", "light", "dark", "light", "x"])]]
        case.args = [form, *some(random, options), *more, *files, "-o", case.output]
    elif shape == 8:
        case.output = "out.html"
        case.args = ["report", "--html", case.output, *scope, *files]
    else:
        options = [["--json"], ["--png", "out.png"], ["--memory", of(["1GB", "4GiB", "100MB", "1KB", "1B", "0GB"])], ["--jobs", of(SMALL)], ["--run", "r"],
                   ["--out", "tables"]]
        chosen = some(random, options)
        case.output = "out.png" if "--png" in chosen else ""
        case.args = ["ranks", *chosen, *more, *files]
    if case.output == "-":
        case.output = ""
