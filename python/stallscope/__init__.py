"""Records what a training loop and its loader's workers do, and says what the GPU waited for.

    import stallscope

    with stallscope.record("run", steps=40, loader=loader) as rec:
        for batch in rec.batches(loader):
            ...
            rec.step()

`record` writes one folder that `stallscope run` opens; `report` and `show` ask the program about it. Workers import nothing
but the standard library from here.
"""

from __future__ import annotations

__all__ = ["Recording", "StallscopeError", "program", "record", "report", "show", "span"]

_HOME = {
    "Recording": "_record",
    "record": "_record",
    "StallscopeError": "_program",
    "program": "_program",
    "report": "_program",
    "show": "_program",
    "span": "_loading",
}


def __getattr__(name: str):
    """Loads what is asked for: a worker that starts anew needs little of it."""
    if name == "__version__":
        from importlib import metadata

        try:
            return metadata.version("stallscope")
        except metadata.PackageNotFoundError:
            return "0"
    if name not in _HOME:
        raise AttributeError(f"module 'stallscope' has no attribute {name!r}")
    from importlib import import_module

    return getattr(import_module(f"{__name__}.{_HOME[name]}"), name)


def __dir__() -> list[str]:
    return [*__all__, "__version__"]
