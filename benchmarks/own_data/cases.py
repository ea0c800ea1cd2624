"""Data files of our own invention, from different fields; none is a built-in task.

A case draws inputs and has a machine that turns them into outputs; `make.py` writes them as CSV files.
`SIMPLE` and `HARD` were there while the package was made; `FRESH` (in `cases_fresh.py`) was written after it,
and its first results are kept as they were.
"""

from __future__ import annotations

import numpy as np
from case_kinds import (
    Case,
    bits,
    elevator,
    pointwise,
    real,
    recur,
    stored,
    walk,
    whole,
    window,
    with_borrow,
    with_carry,
)
from cases_fresh import FRESH

SIMPLE = (
    Case("interlock", "safety", ("door", "motor", "smoke"), ("alarm",), bits(3),
         pointwise(lambda d, m, s: (d and m) or s)),
    Case("vote", "voting", ("a", "b", "c"), ("passed",), bits(3), pointwise(lambda a, b, c: a + b + c >= 2)),
    Case("amplifier", "electronics", ("volts",), ("out",), real((-4, 4)),
         pointwise(lambda v: min(max(2 * v, -3), 3)), long=True),
    Case("hysteresis", "heating", ("temperature",), ("heater",), walk(12, 28),
         recur(lambda on, t: 1 if t < 18 else 0 if t > 22 else on)),
    Case("fee", "commerce", ("amount",), ("fee",), whole((0, 100)), pointwise(lambda a: 2 if a >= 60 else 0)),
    Case("since_reset", "counting", ("reset",), ("count",), bits(1, 0.3),
         recur(lambda n, r: 0 if r else n + 1)),
    Case("dial", "counting", ("steps",), ("place",), whole((0, 3)), recur(lambda n, s: (n + s) % 4)),
    Case("sum3", "statistics", ("x",), ("total",), whole((0, 9)), window(3, np.sum)),
    Case("peak3", "statistics", ("x",), ("peak",), whole((0, 9)), window(3, np.max)),
    Case("power", "electricity", ("volts", "amps"), ("watts",), real((0, 12), (0, 3), digits=1),
         pointwise(lambda v, a: v * a)),
    Case("tank", "hydrology", ("inflow", "outflow"), ("level",), real((0, 10), (0, 5)),
         recur(lambda y, i, o: 0.8 * y + 0.5 * i - 0.2 * o), long=True),
    Case("smoothed", "signals", ("x",), ("y",), real((-5, 5)),
         recur(lambda y, x: 0.7 * y + 0.3 * x), noise=0.05, long=True),
    Case("gauge", "measuring", ("x",), ("y",), real((0, 10)), pointwise(lambda x: 2.5 * x - 1), noise=0.2,
         long=True),
    Case("inventory", "logistics", ("delivery", "demand"), ("stock",), whole((0, 5), (0, 5)),
         recur(lambda s, i, o: max(s + i - o, 0))),
    Case("switch", "lighting", ("press",), ("light",), bits(1), recur(lambda y, p: (y + p) % 2)),
    Case("rising_edge", "digital", ("signal",), ("edge",), bits(1),
         window(2, lambda w: float(w[1] > w[0]))),
    Case("debounce", "digital", ("contact",), ("pressed",), bits(1, 0.7), window(3, np.min)),
    Case("interest", "banking", ("deposit", "withdrawal"), ("balance",), whole((0, 100), (0, 50)),
         recur(lambda b, d, w: 1.02 * b + d - w)),
    Case("dead_zone", "control", ("wanted", "actual"), ("correction",), whole((0, 9), (0, 9)),
         pointwise(lambda w, a: 0 if abs(w - a) < 3 else w - a)),
    Case("gears", "mechanics", ("rpm", "gear"), ("speed",), whole((1, 20), (1, 4)),
         pointwise(lambda r, g: r * g)),
    Case("traffic_light", "traffic", ("tick",), ("phase",), bits(1), recur(lambda p, t: (p + t) % 3)),
    Case("latch", "digital", ("set", "reset"), ("q",), bits(2, 0.4),
         recur(lambda q, s, r: 1 if s else 0 if r else q)),
    Case("savings", "banking", ("income", "spent"), ("saved",), whole((0, 20), (0, 20)),
         recur(lambda b, i, s: min(max(b + i - s, 0), 30))),
    Case("velocity", "motion", ("position",), ("speed",), real((-3, 3)),
         window(2, lambda w: (w[1] - w[0]) / 0.5), long=True),
)  # fmt: skip

HARD = (
    Case("sum6", "statistics", ("x",), ("total",), whole((0, 5)), window(6, np.sum), hard=True),
    Case("peak8", "statistics", ("x",), ("peak",), whole((0, 20)), window(8, np.max), hard=True),
    Case("delay9", "signals", ("x",), ("y",), whole((0, 9)), window(10, lambda w: w[0]), hard=True,
         long=True),
    Case("two_of_twelve", "logic", tuple(f"c{i}" for i in range(1, 13)), ("y",), bits(12),
         lambda x: ((x[:, 2] + x[:, 7]) % 2)[:, None], hard=True),
    Case("two_of_ten", "regression", tuple(f"c{i}" for i in range(1, 11)), ("y",), real(*[(-1, 1)] * 10),
         lambda x: (2 * x[:, 1] - np.concatenate([[0], x[:-1, 6]]))[:, None], hard=True, long=True),
    Case("last_price", "commerce", ("item", "price"), ("previous",), whole((0, 4), (1, 9)), stored,
         hard=True),
    Case("record", "athletics", ("result",), ("record",), whole((0, 99)),
         lambda x: np.maximum.accumulate(x, 0), hard=True),
    Case("average_so_far", "statistics", ("x",), ("mean",), whole((0, 9)),
         lambda x: np.cumsum(x, 0) / np.arange(1, len(x) + 1)[:, None], hard=True),
    Case("decimal_sum", "arithmetic", ("a", "b"), ("digit",), whole((0, 9), (0, 9)), with_carry(10),
         hard=True),
    Case("base4_difference", "arithmetic", ("a", "b"), ("digit",), whole((0, 3), (0, 3)), with_borrow(4),
         hard=True),
    Case("three_deep", "logic", ("a", "b", "c"), ("y",), whole((0, 7), (0, 7), (0, 7)),
         pointwise(lambda a, b, c: abs(max(a, b) - c) % 4), hard=True),
    Case("busy5", "queues", ("arrivals",), ("busy",), whole((0, 4)), window(5, lambda w: float(w.sum() > 10)),
         hard=True),
    Case("most_of_7", "digital", ("signal",), ("smooth",), bits(1), window(7, lambda w: float(w.sum() >= 4)),
         hard=True),
    Case("elevator", "mechanics", ("up", "down", "door"), ("floor",), bits(3), elevator, hard=True),
)  # fmt: skip

CASES = (*SIMPLE, *HARD, *FRESH)
