"""The program `stallscope`, and what it says of a recording."""

from __future__ import annotations

import html
import json
import os
import shutil
import subprocess
import sys
import sysconfig


class StallscopeError(RuntimeError):
    """The program is not there, or could not do what was asked; the text says what to do."""


def program() -> str:
    """The path of the program: `STALLSCOPE_PROGRAM`, else that which was installed with this package, else one in `PATH`."""
    given = os.environ.get("STALLSCOPE_PROGRAM")
    if given:
        return given
    name = "stallscope.exe" if os.name == "nt" else "stallscope"
    user = sysconfig.get_path("scripts", f"{os.name}_user")
    folders = [sysconfig.get_path("scripts"), os.path.dirname(sys.executable), user]
    for folder in folders:
        path = os.path.join(folder, name)
        if os.access(path, os.X_OK):
            return path
    found = shutil.which(name)
    if found is None:
        raise StallscopeError(
            "the program `stallscope` was not found: `pip install stallscope` brings it; or set STALLSCOPE_PROGRAM to its path"
        )
    return found


def run(*args: str | os.PathLike) -> str:
    """What the program prints."""
    command = [program(), *map(os.fspath, args)]
    try:
        done = subprocess.run(command, capture_output=True, encoding="utf-8", errors="replace", check=False)
    except OSError as error:
        raise StallscopeError(f"{command[0]} cannot be run: {error}") from error
    if done.returncode != 0:
        said = done.stderr.strip() or done.stdout.strip() or f"exit code {done.returncode}"
        raise StallscopeError(f"stallscope {args[0]}: {said}")
    return done.stdout


def report(*paths, options: tuple = ()) -> dict:
    """The report of a recording as a dictionary; its fields are those of `stallscope report --json`. Times are ns."""
    return json.loads(run("report", *paths, "--json", *options))


class Picture:
    """The timeline of a recording and its verdict, drawn where notebooks draw."""

    def __init__(self, svg: str, text: str):
        self.svg = svg
        self.text = text

    def _repr_html_(self) -> str:
        return f'<pre style="white-space: pre-wrap">{html.escape(self.text)}</pre><div style="overflow-x: auto">{self.svg}</div>'

    def __repr__(self) -> str:
        return self.text


def show(*paths, options: tuple = ()) -> Picture:
    """The timeline as a drawing, with the verdict; a notebook shows it where it is the last value of a cell.
    `options` go to `stallscope svg`, for example `("--range", "1.2s..1.8s")`."""
    svg = run("svg", *paths, "-o", "-", *options)
    # What is in it, and the verdict.
    head = run("report", *paths).split("\n\n")[:2]
    return Picture(svg[svg.find("<svg") :], "\n\n".join(head))
