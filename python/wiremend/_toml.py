"""Python values as TOML."""

from __future__ import annotations

import json
import math
from typing import Any, Mapping

from ._native import InputError


def value(place: str, item: Any) -> str:
    """A value in one line."""
    if isinstance(item, bool):
        return "true" if item else "false"
    if isinstance(item, str):
        # The escapes of JSON are those of TOML, but for DEL, which TOML wants escaped too.
        return json.dumps(item, ensure_ascii=False).replace("\x7f", "\\u007f")
    if isinstance(item, Mapping):
        return "{ " + ", ".join(f"{_key(key)} = {value(f'{place}.{key}', of)}" for key, of in item.items()) + " }"
    if hasattr(item, "tolist"):
        # A scalar or an array of numpy.
        return value(place, item.tolist())
    if isinstance(item, int):
        return str(item)
    if isinstance(item, float):
        if math.isfinite(item):
            return repr(item)
        raise InputError(f"{place}: {item!r} is not a number")
    if isinstance(item, (list, tuple, range)):
        return "[" + ", ".join(value(f"{place}.{index}", of) for index, of in enumerate(item)) + "]"
    raise InputError(
        f"{place}: a {type(item).__name__} cannot be a value; use a number, bool, str, list or dict"
    )


def document(table: Mapping[str, Any]) -> str:
    """A table with a line for each key."""
    return "".join(f"{_key(key)} = {value(str(key), item)}\n" for key, item in table.items())


def _key(key: Any) -> str:
    if not isinstance(key, str):
        raise InputError(f"{key!r} cannot be a key; use a str")
    return json.dumps(key, ensure_ascii=False)
