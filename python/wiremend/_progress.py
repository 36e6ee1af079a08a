"""Progress of runs."""

from __future__ import annotations

import sys
from contextlib import contextmanager
from typing import Callable, Iterator, Union

Progress = Union[bool, Callable[[float], object]]


@contextmanager
def reporter(progress: Progress) -> Iterator[Union[Callable[[float], object], None]]:
    """What to call with the completed fraction. `True` writes a line that notebooks and terminals rewrite."""
    if progress is not True:
        yield progress or None
        return
    shown = -1

    def show(share: float) -> None:
        nonlocal shown
        percent = int(100 * share)
        if percent != shown:
            shown = percent
            print(f"\r{percent:3d} %", end="", file=sys.stderr, flush=True)

    try:
        yield show
        show(1.0)
    finally:
        if shown >= 0:
            print(file=sys.stderr)
