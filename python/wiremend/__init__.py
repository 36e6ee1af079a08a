"""Simulations, sweeps and the model of wiremend.

    import polars as pl
    import wiremend

    result = wiremend.run("tour", {"workload.0.flows": 1000}, seeds=3)
    flows = pl.DataFrame(result.flows)

Ctrl-C stops a run, other threads go on meanwhile, and every error is one line.
"""

from __future__ import annotations

import json
import os
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Callable, Iterable, Mapping, Sequence, Union

from . import _native, model
from ._flows import flow_list
from ._native import Error, InputError, MachineError, Table, __version__
from ._progress import Progress, reporter
from ._toml import document, value

__all__ = [
    "Cells",
    "Error",
    "InputError",
    "MachineError",
    "Repeated",
    "Result",
    "Table",
    "__version__",
    "collect",
    "flow_list",
    "model",
    "rerun",
    "run",
    "scenarios",
    "sweep",
]

PathLike = Union[str, "os.PathLike[str]"]


@dataclass(frozen=True, repr=False)
class Result:
    """Results of a run."""

    summary: dict[str, Any]
    """What `summary.json` holds."""
    sentences: list[str]
    """Sentences that summarise it."""
    flows: Table
    """A row for each flow: the columns of `flows.parquet`."""
    links: Table
    """A row for each direction of a link in each run: the columns of `links.parquet`."""
    series: Table
    """Samples of links over time, if the scenario has a `[series]`: the columns of `series.parquet`."""
    flow_series: Table
    """Samples of flows over time, if `[series]` names flows: the columns of `flow_series.parquet`."""

    @property
    def digests(self) -> dict[str, str]:
        """The digest of each variant."""
        return {variant["name"]: variant["digest"] for variant in self.summary["variants"]}

    def __repr__(self) -> str:
        names = ", ".join(self.digests)
        return f"<wiremend.Result of {self.summary['scenario']}: {names}; rows of flows: {len(self.flows)}>"


@dataclass(frozen=True)
class Repeated:
    """A variant that was run again."""

    variant: str
    recorded: str
    """The digest in the directory."""
    digest: str
    """The digest of the repetition."""

    @property
    def is_equal(self) -> bool:
        """Whether the repetition has the same results."""
        return self.recorded == self.digest


@dataclass(frozen=True)
class Cells:
    """Results of a sweep."""

    cells: Table
    """A row for each cell: the columns of `cells.parquet`."""
    failed: list[tuple[str, str]]
    """Cells that failed, with their messages."""
    missing: int
    """Number of cells without a result."""
    version: str
    """Version that planned them."""


def run(
    scenario: Union[PathLike, Mapping[str, Any]],
    overrides: Union[Mapping[str, Any], None] = None,
    *,
    variants: Iterable[str] = (),
    seed: Union[int, None] = None,
    seeds: int = 1,
    threads: Union[int, None] = None,
    flows: Union[bytes, None] = None,
    files: Union[Mapping[str, Union[str, bytes]], None] = None,
    out: Union[PathLike, None] = None,
    csv: bool = False,
    progress: Progress = False,
) -> Result:
    """Runs the variants of a scenario.

    `scenario` is a name of the library, a path, a TOML text of several lines, or a dict. `overrides` changes its
    values: `{"transport.mtu": 1024}`. `flows`, made by `flow_list`, replaces its workloads. `files` has the contents of
    other files that the scenario names. `out` is a directory for the files of `wiremend run --out`. `progress` is True
    for a line of text, or a function that is called with the completed fraction.
    """
    changes = [(path, value(path, new)) for path, new in (overrides or {}).items()]
    contents = {name: _bytes(name, text) for name, text in (files or {}).items()}
    if flows is not None:
        if not isinstance(flows, bytes):
            raise InputError("flows: expected a list made by wiremend.flow_list")
        changes.append(("workload", '[{ kind = "list", file = "flows.csv" }]'))
        contents["flows.csv"] = flows
    text, is_text = _scenario(scenario)
    arguments = {
        "scenario": text,
        "is_text": is_text,
        "overrides": changes,
        "files": list(contents.items()),
        "variants": _names("variants", variants),
        "seed": _count("seed", seed),
        "seeds": _count("seeds", seeds),
        "threads": _count("threads", threads),
        "out": None if out is None else os.fspath(out),
        "csv": csv,
    }
    with reporter(progress) as report:
        summary, sentences, tables = _native.run(arguments, report)
    return Result(json.loads(summary), sentences, *tables)


def rerun(
    directory: PathLike,
    *,
    any_version: bool = False,
    threads: Union[int, None] = None,
    progress: Progress = False,
) -> list[Repeated]:
    """Repeats a run from the files of its directory, and compares the digests."""
    with reporter(progress) as report:
        repeated = _native.rerun(os.fspath(directory), any_version, _count("threads", threads), report)
    return [Repeated(*variant) for variant in repeated]


def sweep(
    study: Union[PathLike, Mapping[str, Any]],
    out: PathLike,
    *,
    threads: Union[int, None] = None,
    yes: bool = False,
    progress: Progress = False,
) -> Cells:
    """Runs the cells of a study that have no result yet, and returns all.

    `study` is the path of a study file, or a dict with the same content. `out` is the directory of the results, which
    other workers may share. `yes` confirms a study of very many cells.
    """
    if isinstance(study, Mapping):
        source, text = "study", document(study)
    else:
        source = os.fspath(study)
        try:
            text = Path(source).read_text(encoding="utf-8")
        except (OSError, UnicodeDecodeError) as error:
            raise InputError(f"{source}: cannot be read: {error}") from None
    arguments = {
        "source": source,
        "study": text,
        "out": os.fspath(out),
        "threads": _count("threads", threads),
        "yes": yes,
    }
    with reporter(progress) as report:
        return Cells(*_native.sweep(arguments, report))


def collect(directory: PathLike, *, any_version: bool = False) -> Cells:
    """Reads the directory of a sweep, and writes its table and page."""
    return Cells(*_native.collect(os.fspath(directory), any_version))


def scenarios() -> dict[str, str]:
    """Names and titles of the scenarios of the library."""
    return dict(_native.scenarios())


def _scenario(scenario: Union[PathLike, Mapping[str, Any]]) -> tuple[str, bool]:
    if isinstance(scenario, Mapping):
        return document(scenario), True
    text = os.fspath(scenario)
    return text, "\n" in text


def _bytes(name: str, text: Union[str, bytes]) -> bytes:
    if isinstance(text, str):
        return text.encode()
    if isinstance(text, (bytes, bytearray, memoryview)):
        return bytes(text)
    raise InputError(f"files: {name}: expected a str or bytes, not {type(text).__name__}")


def _names(what: str, names: Iterable[str]) -> list[str]:
    """A single name is not a list of its letters."""
    return [names] if isinstance(names, str) else list(names)


def _count(what: str, count: Union[int, None]) -> Union[int, None]:
    if count is None or (isinstance(count, int) and 0 <= count < 2**64):
        return count
    raise InputError(f"{what}: {count!r}: expected a whole number from 0")
