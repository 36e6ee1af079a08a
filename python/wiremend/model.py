"""The cost of corruption in closed form: `wiremend model` and `wiremend tune` as functions.

Give one loss ratio: `beta` for full frames, `alpha` for bits, or `drop` for frames of any length. Flow sizes are a
`workload` of `wiremend list`, one `size` such as "64KiB", or `sizes` with their `shares`. Times and rates are texts
with a unit.
"""

from __future__ import annotations

from typing import Any, Iterable, Union

from . import _native
from ._native import InputError

__all__ = ["evaluate", "tune"]


def evaluate(
    *,
    dummies: int = 0,
    nak_copies: int = 0,
    retransmission_copies: int = 0,
    tail_copies: int = 0,
    nak_reaction: str = "each",
    **question: Any,
) -> dict[str, Any]:
    """Timeouts of a flow by cause, their probability, the mean time lost, and what dummies and copies add.

    `question` has the loss ratio (`beta`, `alpha` or `drop`), the path (`links`, `access_links`, `omega`), the flows
    (`workload`, `size`, or `sizes` and `shares`; `mtu`, `operation`) and the times (`rto`, `rtt`, `rate`, `gap`,
    `load`, `hold`, `next`).
    """
    mend = (dummies, nak_copies, retransmission_copies, tail_copies)
    for name, count in zip(("dummies", "nak_copies", "retransmission_copies", "tail_copies"), mend):
        if not isinstance(count, int) or not 0 <= count <= 12:
            raise InputError(f"{name}: {count!r}: expected a whole number from 0 to 12")
    return _native.evaluate(_question(nak_reaction=nak_reaction, **question), mend)


def tune(
    *,
    target_timeout: Union[float, None] = None,
    target_p999: Union[str, None] = None,
    target_p9999: Union[str, None] = None,
    nak_reaction: str = "unknown",
    **question: Any,
) -> dict[str, Any]:
    """The cheapest dummies and copies for a target, or the best ones if `reached` is False.

    The target is a timeout probability, or a limit of the 99.9th or 99.99th percentile of the completion time.
    `question` is that of `evaluate`.
    """
    limits = [(0.999, target_p999), (0.9999, target_p9999)]
    given = [(quantile, limit) for quantile, limit in limits if limit is not None]
    if len(given) + (target_timeout is not None) != 1:
        raise InputError('target: give one of target_timeout=1e-6, target_p999="1ms" and target_p9999="1ms"')
    asked = _question(nak_reaction=nak_reaction, **question)
    return _native.tune(asked, target_timeout, given[0] if given else None)


def _question(
    *,
    beta: Union[float, None] = None,
    alpha: Union[float, None] = None,
    drop: Union[float, None] = None,
    links: int = 1,
    access_links: int = 0,
    omega: float = 1.0,
    workload: str = "websearch",
    size: Union[str, None] = None,
    sizes: Union[Iterable[int], None] = None,
    shares: Union[Iterable[float], None] = None,
    mtu: int = 1024,
    operation: str = "write",
    rto: str = "67.108864ms",
    rtt: str = "10us",
    rate: str = "100Gbps",
    next: str = "nothing",
    gap: Union[str, None] = None,
    load: Union[float, None] = None,
    hold: str = "0s",
    nak_reaction: str,
) -> dict[str, Any]:
    if next not in ("nothing", "at-once"):
        raise InputError(f'next: {next!r}: expected "nothing" or "at-once"')
    listed = None
    if sizes is not None:
        listed_sizes = list(sizes)
        listed_shares = [1.0] * len(listed_sizes) if shares is None else list(shares)
        if len(listed_sizes) != len(listed_shares):
            raise InputError(f"shares: {len(listed_shares)} shares for {len(listed_sizes)} sizes")
        listed = list(zip(listed_sizes, listed_shares))
    return {
        "beta": beta,
        "alpha": alpha,
        "drop": drop,
        "links": links,
        "access_links": access_links,
        "omega": omega,
        "workload": workload,
        "size": size,
        "sizes": listed,
        "mtu": mtu,
        "operation": operation,
        "rto": rto,
        "rtt": rtt,
        "rate": rate,
        "is_next_at_once": next == "at-once",
        "gap": gap,
        "load": load,
        "hold": hold,
        "nak_reaction": nak_reaction,
    }
