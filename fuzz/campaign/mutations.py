"""What happens to files: bytes, lines, fields, pages, members. Every choice comes from the random numbers that are given."""

import gzip
import io
import json
import sqlite3
import struct
import tempfile
import warnings
import zipfile
import zlib
from pathlib import Path

import inputs

# Members of equal names are meant.
warnings.filterwarnings("ignore", message="Duplicate name")

TOKENS = [
    b"{", b"}", b"[", b"]", b",", b":", b'"', b"\\", b"\\u", b"\\ud800", b"\0", b"\n", b"\r\n", b"\xff\xfe", b"\xef\xbb\xbf", b"}{", b"],[",
    b'"traceEvents":[', b'"args":{', b"null", b"NaN", b"-Infinity", b"true", b'{"ph":"E","ts":1,"pid":1,"tid":1},',
    b'{"ph":"B","ts":1,"pid":1,"tid":1,"name":"x"},', b"\x1b[31m", b"\x9b31m", b"PK\x01\x02", b"PK\x05\x06", b"\x1f\x8b\x08", b"[[rule]]\n", b"'''",
]
NUMBERS = [
    0, -1, 1, 2**31, 2**32, 2**53 + 1, 2**63 - 1, -(2**63), 2**63, 2**64 - 1, 10**30, 0.5, -0.0, 1e-308, 1e308,
    9_223_372_036_854_775, 1_700_000_000_000_000,
]
TEXTS = ["", "x" * 3000, "\x1b]0;boo\x07", "a\u0000b", "\u202eoverride", "=1+1", "<script>", "NaN", "1e999", "0x1f", "-", "\ud800", "🚂" * 40, "a\nb", "::x::"]


def change(random, name, data, pool):
    """A few changes of one input."""
    for _ in range(random.choice([1, 1, 1, 2, 3])):
        kinds = [cut, hole, splice, flips, tokens, digits]
        if name in ("sqlite",):
            kinds = [pages, pages, rows, rows, rows, flips, cut, hole, header]
        elif name.endswith(".gz"):
            kinds = [surgery, surgery, surgery, cut, flips]
        elif name in ("zip", "tar"):
            kinds = [archive, archive, cut, flips, hole]
        elif name in ("torch0", "torch4", "rank0", "rank1", "real", "chrome"):
            kinds += [fields, fields, fields, events]
        elif name in ("lines", "loop", "worker"):
            kinds += [lines, lines, line_fields, line_fields]
        elif name in ("table", "rules", "session", "saved"):
            kinds += [lines, cells]
        data = random.choice(kinds)(random, data, pool)[: 1 << 21]
    return data


def place(random, data):
    return random.randrange(len(data) + 1)


def stretch(random, data):
    a = place(random, data)
    return a, min(len(data), a + random.choice([1, 3, 17, 100, 1000, 5000]))


def cut(random, data, _pool):
    return data[: place(random, data)]


def hole(random, data, _pool):
    a, b = stretch(random, data)
    fill = random.choice([b"", b"\0" * (b - a), b"\xff" * (b - a), b" " * (b - a)])
    return data[:a] + fill + data[b:]


def splice(random, data, pool):
    other = random.choice(pool)
    a, b = stretch(random, other)
    at = place(random, data)
    return data[:at] + other[a:b] + data[at:]


def flips(random, data, _pool):
    out = bytearray(data)
    for _ in range(random.choice([1, 2, 8, 40])):
        if out:
            out[random.randrange(len(out))] ^= 1 << random.randrange(8)
    return bytes(out)


def tokens(random, data, _pool):
    at = place(random, data)
    return data[:at] + random.choice(TOKENS) + data[at:]


def digits(random, data, _pool):
    """Another number in the place of one."""
    at = place(random, data)
    while at < len(data) and not 48 <= data[at] <= 57:
        at += 1
    end = at
    while end < len(data) and (48 <= data[end] <= 57 or data[end] == 46):
        end += 1
    return data[:at] + str(random.choice(NUMBERS)).encode() + data[end:]


def odd(random):
    return random.choice([*NUMBERS, *TEXTS, None, True, [], {}, [1, [2]], {"a": {"b": 1}}])


def dumped(value):
    # Lone surrogates are escaped, as some tracers write them.
    return json.dumps(value, separators=(",", ":")).encode()


def spoil(random, event):
    """Another value, no value or another field of an event."""
    keys = list(event) or ["x"]
    key = random.choice([*keys, "ts", "dur", "ph", "pid", "tid", "args", "name", "cat", "id"])
    inner = event.get("args")
    if key == "args" and isinstance(inner, dict) and inner and random.random() < 0.8:
        key = random.choice(list(inner))
        event = inner
    if random.random() < 0.2:
        event.pop(key, None)
    else:
        event[key] = odd(random)


def read(data):
    """A trace as JSON and its list of events; no list where there is none."""
    try:
        whole = json.loads(data)
    except ValueError:
        return None, None
    found = whole.get("traceEvents") if isinstance(whole, dict) else whole
    return whole, found if isinstance(found, list) else None


def fields(random, data, _pool):
    whole, events = read(data)
    if not events:
        return data
    if isinstance(whole, dict) and random.random() < 0.15:
        whole[random.choice([*whole, "traceEvents", "displayTimeUnit", "baseTimeNanoseconds", "distributedInfo"])] = odd(random)
        return dumped(whole)
    for _ in range(random.choice([1, 2, 10])):
        event = random.choice(events)
        if isinstance(event, dict):
            spoil(random, event)
    return dumped(whole)


def events(random, data, _pool):
    """Events in another order, twice, or in other processes; all at one time, or far apart."""
    whole, found = read(data)
    if not found:
        return data
    way = random.randrange(5)
    if way == 0:
        random.shuffle(found)
    elif way == 1:
        found += found[: random.randrange(len(found))]
    else:
        for event in found:
            if not isinstance(event, dict):
                continue
            if way == 2:
                event["pid"] = random.randrange(4)
            elif way == 3 and "ts" in event:
                event["ts"] = 5
            elif way == 4 and random.random() < 0.05 and "ts" in event:
                event["ts"] = random.choice(NUMBERS)
    return dumped(whole)


def lines(random, data, _pool):
    """Lines gone, twice, exchanged, joined."""
    all_lines = data.split(b"\n")
    a, b = random.randrange(len(all_lines)), random.randrange(len(all_lines))
    way = random.randrange(5)
    if way == 0:
        del all_lines[a]
    elif way == 1:
        all_lines.insert(b, all_lines[a])
    elif way == 2:
        all_lines[a], all_lines[b] = all_lines[b], all_lines[a]
    elif way == 3:
        all_lines[a : a + 2] = [b"".join(all_lines[a : a + 2])]
    else:
        all_lines[a] = random.choice(TOKENS) + all_lines[a]
    return b"\n".join(all_lines)


def line_fields(random, data, _pool):
    all_lines = data.split(b"\n")
    for _ in range(random.choice([1, 2, 6])):
        at = random.randrange(len(all_lines))
        try:
            event = json.loads(all_lines[at])
        except ValueError:
            continue
        if isinstance(event, dict):
            spoil(random, event)
            all_lines[at] = dumped(event)
    return b"\n".join(all_lines)


def cells(random, data, _pool):
    """Another cell of a table, or another value of a file of keys."""
    all_lines = data.split(b"\n")
    at = random.randrange(len(all_lines))
    sign = b"," if b"," in all_lines[at] else b"="
    parts = all_lines[at].split(sign)
    value = str(odd(random)).encode("utf-8", "surrogatepass")
    parts[random.randrange(len(parts))] = value
    all_lines[at] = sign.join(parts)
    return b"\n".join(all_lines)


# ---- databases


def page_size(data):
    size = struct.unpack(">H", data[16:18])[0] if len(data) > 18 else 0
    return size if size >= 512 else 1024


def pages(random, data, _pool):
    size = page_size(data)
    n = len(data) // size
    if n < 3:
        return data
    parts = [data[i * size : (i + 1) * size] for i in range(n)]
    a, b = random.randrange(1, n), random.randrange(1, n)
    way = random.randrange(6)
    if way == 0:
        parts[a], parts[b] = parts[b], parts[a]
    elif way == 1:
        parts[a] = b"\0" * size
    elif way == 2:
        parts[a] = parts[b]
    elif way == 3:
        parts = parts[:a]
    elif way == 4:
        # The head of a page: kind, cells, where they begin.
        page = bytearray(parts[a])
        page[random.randrange(12)] = random.choice([0, 1, 2, 5, 10, 13, 255])
        parts[a] = bytes(page)
    else:
        parts[a] = bytes(random.randrange(256) for _ in range(size))
    return b"".join(parts)


def header(random, data, _pool):
    out = bytearray(data)
    if len(out) > 100:
        out[random.randrange(16, 100)] = random.choice([0, 1, 2, 64, 128, 255])
    return bytes(out)


def rows(random, data, _pool):
    """What a whole database may hold that no export has: other types, nothing, far times, tables without columns."""
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "x.sqlite"
        path.write_bytes(data)
        try:
            db = sqlite3.connect(path, isolation_level=None)
            tables = [r[0] for r in db.execute("SELECT name FROM sqlite_master WHERE type='table' AND name NOT LIKE 'sqlite%' ORDER BY name")]
            # Those that hold the timeline are met most.
            main = [t for t in tables if t.startswith(("CUPTI", "NVTX", "StringIds", "OSRT", "Thread", "TARGET", "ANALYSIS", "META"))]
            table = random.choice(main or tables)
            columns = [r[1] for r in db.execute(f'PRAGMA table_info("{table}")')]
            column = random.choice(columns)
            low, high = db.execute(f'SELECT min(rowid), max(rowid) FROM "{table}"').fetchone()
            row = random.randrange(low, high + 1) if low is not None else 0
            some = random.choice([f"rowid = {row}", f"rowid % {random.choice([2, 5, 50])} = 0", "1"])
            value = random.choice([*NUMBERS[:10], 0.5, "text", "12", None, b"\x00\xff", "x" * 5000])
            if isinstance(value, int) and not -(2**63) <= value < 2**63:
                value = float(value)
            way = random.randrange(6)
            if way == 0:
                db.execute(f'DELETE FROM "{table}" WHERE {some}')
            elif way == 1:
                db.execute(f'DROP TABLE "{table}"')
            elif way == 2:
                db.execute(f'ALTER TABLE "{table}" RENAME COLUMN "{column}" TO "other"')
            elif way == 3:
                db.execute(f'INSERT INTO "{table}" SELECT * FROM "{table}" WHERE {some} LIMIT 50')
            else:
                db.execute(f'UPDATE "{table}" SET "{column}" = ? WHERE {some}', [value])
        except (sqlite3.Error, IndexError, OverflowError):
            return data
        finally:
            db.close()
        return path.read_bytes()


SPANS = ["CUPTI_ACTIVITY_KIND_KERNEL", "CUPTI_ACTIVITY_KIND_RUNTIME", "CUPTI_ACTIVITY_KIND_MEMCPY", "CUPTI_ACTIVITY_KIND_MEMSET",
         "CUPTI_ACTIVITY_KIND_SYNCHRONIZATION", "NVTX_EVENTS", "OSRT_API"]


def wrong_times(random, data, most=6):
    """Rows of a whole database that get a text for a time; also how many rows are spans."""
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "x.sqlite"
        path.write_bytes(data)
        db = sqlite3.connect(path, isolation_level=None)
        n = sum(db.execute(f'SELECT count(*) FROM "{table}"').fetchone()[0] for table in SPANS)
        for _ in range(random.randrange(most + 1) if most else 0):
            table = random.choice(SPANS[:4] + ["OSRT_API"])
            low, high = db.execute(f'SELECT min(rowid), max(rowid) FROM "{table}"').fetchone()
            db.execute(f'UPDATE "{table}" SET "{random.choice(["start", "end"])}" = ? WHERE rowid = ?', ["soon", random.randrange(low, high + 1)])
        db.close()
        return path.read_bytes(), n


# ---- compressed files and archives


def surgery(random, data, pool):
    """A member of gzip with another trailer, other bytes in its middle, something before, between or behind."""
    way = random.randrange(8)
    try:
        text = gzip.decompress(data)
    except (OSError, EOFError, zlib.error):
        text = b""
    half = len(text) // 2
    if way == 0 and len(data) > 8:
        return data[:-8] + bytes(random.randrange(256) for _ in range(8))
    if way == 1:
        at = random.randrange(10, max(11, len(data)))
        return data[:at] + bytes(random.randrange(256) for _ in range(random.choice([1, 4, 200]))) + data[at + 4 :]
    if way == 2:
        return inputs.packed(text[:half]) + random.choice([b"", b"\0" * 512, b"junk"]) + inputs.packed(text[half:])
    if way == 3:
        return data + random.choice([b"\0" * 1024, b"more", data[:20], inputs.packed(b"")])
    if way == 4:
        return inputs.packed(data)
    if way == 5:
        first = bytearray(inputs.packed(text[:half]))
        first[len(first) // 2] ^= 255
        return bytes(first) + inputs.packed(text[half:])
    if way == 6:
        return inputs.packed(random.choice([cut, hole, splice, tokens])(random, text, pool))
    # Another flag in the head: a name, a comment, a checksum that are not there.
    return data[:3] + bytes([random.randrange(256)]) + data[4:]


def archive(random, data, pool):
    """An archive with members of odd names, twice, damaged, in each other."""
    odd_names = ["../up.json", "/abs.json", "a//b.json", "a.json", "A.JSON", "x" * 200 + ".json", "dir/", "\x1b[1m.json", "ü.pfw", "__MACOSX/._a.json"]
    members = []
    for _ in range(random.choice([0, 1, 2, 4])):
        part = random.choice(pool)
        way = random.randrange(4)
        if way == 0:
            part = inputs.packed(part)
        elif way == 1:
            part = cut(random, part, pool)
        elif way == 2:
            part = inputs.zip_of([("inner.json", part)])
        members.append((random.choice(odd_names), part))
    method = random.choice([zipfile.ZIP_STORED, zipfile.ZIP_DEFLATED])
    way = random.randrange(4)
    if way == 0:
        return inputs.packed(inputs.tar_of(members))
    if way == 1:
        return inputs.tar_of(members)
    out = bytearray(inputs.zip_of(members, method))
    if way == 2 and out:
        # Sizes, checksums, methods and offsets of local heads and of the directory.
        sign = random.choice([b"PK\x01\x02", b"PK\x03\x04", b"PK\x05\x06"])
        at = bytes(out).rfind(sign)
        for _ in range(3):
            where = at + random.randrange(4, 30)
            if 0 <= at and where < len(out):
                out[where] = random.choice([0, 1, 8, 99, 255])
    if random.random() < 0.1:
        return io.BytesIO(bytes(out)).getvalue() + b"behind"
    return bytes(out)
