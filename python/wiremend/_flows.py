"""Lists of flows from arrays."""

from __future__ import annotations

from typing import Any, Iterable

from ._native import InputError


def flow_list(src: Iterable[int], dst: Iterable[int], bytes: Iterable[int], start_ns: Iterable[int]) -> bytes:
    """Makes a list of flows for `run(flows=...)` of columns of equal length.

    A column is an array of numpy, polars, pandas, pyarrow or the module `array`, or any other iterable of whole
    numbers. Hosts are numbers from 0; times are nanoseconds from the start of the run.
    """
    given = {"src": src, "dst": dst, "bytes": bytes, "start_ns": start_ns}
    columns = {name: _column(name, column) for name, column in given.items()}
    lengths = {name: len(column) for name, column in columns.items()}
    if len(set(lengths.values())) != 1:
        listed = ", ".join(f"{name} {length}" for name, length in lengths.items())
        raise InputError(f"flow_list: columns differ in length: {listed}")
    lines = [",".join(columns)]
    lines.extend(f"{a},{b},{c},{d}" for a, b, c, d in zip(*columns.values()))
    return "\n".join(lines).encode() + b"\n"


def _column(name: str, column: Any) -> list[int]:
    for convert in ("tolist", "to_list", "to_pylist"):
        if hasattr(column, convert):
            values = getattr(column, convert)()
            break
    else:
        values = list(column)
    for row, number in enumerate(values):
        if type(number) is not int:
            number = _whole(name, row, number)
            values[row] = number
        if number < 0:
            raise InputError(f"flow_list: {name}, row {row}: {number} is below 0")
    return values


def _whole(name: str, row: int, number: Any) -> int:
    """Scalars of numpy are whole numbers; truth values, fractions and texts are not."""
    if not isinstance(number, bool):
        try:
            return number.__index__()
        except AttributeError:
            pass
    raise InputError(f"flow_list: {name}, row {row}: {number!r} is not a whole number")
