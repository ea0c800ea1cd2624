"""Data files of our own invention, from different fields; none is a built-in task.

A case draws inputs and has a machine that turns them into outputs. Simple and hard ones were there while the
package was made; fresh ones were written after it: each law was put down first, then the file, then one fit.
Their first results, before anything was changed because of them, are `results/fresh_first.json`.
"""

from __future__ import annotations

from dataclasses import replace

import numpy as np
from case_kinds import (
    Case,
    among,
    bits,
    drifting,
    mixed,
    pointwise,
    real,
    recur,
    stepping,
    stored,
    walk,
    whole,
    window,
    with_borrow,
    with_carry,
)

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

_HARD = (
    Case("sum6", "statistics", ("x",), ("total",), whole((0, 5)), window(6, np.sum)),
    Case("peak8", "statistics", ("x",), ("peak",), whole((0, 20)), window(8, np.max)),
    Case("delay9", "signals", ("x",), ("y",), whole((0, 9)), window(10, lambda w: w[0]) ,
         long=True),
    Case("two_of_twelve", "logic", tuple(f"c{i}" for i in range(1, 13)), ("y",), bits(12),
         lambda x: ((x[:, 2] + x[:, 7]) % 2)[:, None]),
    Case("two_of_ten", "regression", tuple(f"c{i}" for i in range(1, 11)), ("y",), real(*[(-1, 1)] * 10),
         lambda x: (2 * x[:, 1] - np.concatenate([[0], x[:-1, 6]]))[:, None] , long=True),
    Case("last_price", "commerce", ("item", "price"), ("previous",), whole((0, 4), (1, 9)), stored),
    Case("record", "athletics", ("result",), ("record",), whole((0, 99)),
         lambda x: np.maximum.accumulate(x, 0)),
    Case("average_so_far", "statistics", ("x",), ("mean",), whole((0, 9)),
         lambda x: np.cumsum(x, 0) / np.arange(1, len(x) + 1)[:, None]),
    Case("decimal_sum", "arithmetic", ("a", "b"), ("digit",), whole((0, 9), (0, 9)), with_carry(10)),
    Case("base4_difference", "arithmetic", ("a", "b"), ("digit",), whole((0, 3), (0, 3)), with_borrow(4)),
    Case("three_deep", "logic", ("a", "b", "c"), ("y",), whole((0, 7), (0, 7), (0, 7)),
         pointwise(lambda a, b, c: abs(max(a, b) - c) % 4)),
    Case("busy5", "queues", ("arrivals",), ("busy",), whole((0, 4)),
         window(5, lambda w: float(w.sum() > 10))),
    Case("most_of_7", "digital", ("signal",), ("smooth",), bits(1),
         window(7, lambda w: float(w.sum() >= 4))),
    Case("elevator", "mechanics", ("up", "down", "door"), ("floor",), bits(3),
         # it moves only with the door closed
         recur(lambda f, up, down, door: f if door else min(max(f + up - down, 0), 4))),
)  # fmt: skip

_FRESH = (
    Case("irrigation", "farming", ("moisture", "rain"), ("valve",), mixed(drifting(10, 60, 9), bits(1, 0.15)),
         recur(lambda v, m, r: 0 if r else 1 if m < 25 else 0 if m >= 40 else v), shape=(120, 20, 40)),
    Case("lift", "mechanics", ("call",), ("floor",), whole((0, 5)),
         recur(lambda f, c: f + (c > f) - (c < f)), shape=(80, 15, 30)),
    Case("garage", "parking", ("enter", "leave"), ("cars", "full"), whole((0, 4), (0, 4)),
         # 20 places, and the sign that says full
         stepping(lambda s, i, o: (n := min(max(s + i - o, 0), 20), n, n == 20), 0), long=True),
    Case("vending", "commerce", ("coin",), ("credit", "bottle"), among(0, 1, 2, 5),
         # coins add up; at 7 a bottle comes out and 7 are taken off
         stepping(lambda s, coin: (n := (s + coin) % 7, n, s + coin >= 7), 0),
         shape=(150, 10, 25)),
    Case("heart_zone", "sport", ("pulse",), ("zone",), whole((60, 190)),
         pointwise(lambda p: 1 + (p >= 100) + (p >= 120) + (p >= 140) + (p >= 160)), long=True),
    Case("reorder", "logistics", ("demand",), ("stock",), whole((0, 6)),
         recur(lambda s, d: 30 if s - d <= 8 else s - d, 30.0), shape=(100, 20, 40)),
    Case("battery", "energy", ("charge", "discharge"), ("stored",), real((0, 5), (0, 4), digits=1),
         recur(lambda s, c, d: min(max(s + 0.9 * c - 1.1 * d, 0), 10)), shape=(200, 10, 24)),
    Case("crossing", "traffic", ("button",), ("green",), bits(1, 0.3),
         recur(lambda g, b: 4 if b and g == 0 else max(g - 1, 0))),
    Case("loan", "banking", ("payment",), ("owed",), whole((50, 400)),
         recur(lambda o, p: 1.005 * o - p, 10_000.0), shape=(60, 12, 36)),
    Case("forecast", "commerce", ("sales",), ("forecast",), whole((20, 80)),
         # it begins with the first value itself
         recur(lambda y, x: x if y is None else 0.2 * x + 0.8 * y, None),
         shape=(100, 12, 30)),
    Case("cusum", "quality", ("value",), ("excess", "alarm"), real((2, 8), digits=1),
         # what exceeds 5.5 adds up; above 4 there is an alarm
         stepping(lambda s, v: (n := max(s + v - 5.5, 0.0), n, n > 4), 0.0),
         shape=(100, 20, 30)),
    Case("pi_controller", "control", ("error",), ("output",), real((-6, 6), digits=1),
         # it changes with the change of the error and with the error, and is limited
         stepping(
             lambda s, e: ((y := min(max(s[0] + 0.8 * (e - s[1]) + 0.2 * e, -10.0), 10.0), e), y), (0.0, 0.0)
         ),
         long=True),
    Case("dose", "medicine", ("dose",), ("amount",), among(0, 0, 0, 50, 100),
         recur(lambda a, d: 0.85 * a + d), noise=2.0, shape=(60, 24, 24)),
    Case("queue", "services", ("arrivals",), ("waiting",), whole((0, 6)),
         recur(lambda q, a: max(q + a - 3, 0)), shape=(60, 30, 60)),
    Case("burglar", "safety", ("armed", "motion", "reset"), ("siren",), bits(3, 0.35),
         recur(lambda y, a, m, r: int((y or (a and m)) and not r)), shape=(150, 10, 20)),
    Case("shift_register", "coding", ("bit",), ("out",), bits(1),
         # feedback from places 1 and 3
         stepping(lambda s, b: ((s[1], s[2], n := int(b) ^ s[2] ^ s[0]), n), (0, 0, 0)), shape=(100, 16, 32)),
    Case("thermometer", "measuring", ("counts", "humidity"), ("celsius",), whole((0, 1023), (20, 90)),
         pointwise(lambda c, h: 0.05 * c - 12), noise=0.3, shape=(1, 600, 600)),
    Case("average5", "signals", ("x",), ("y",), real((0, 20)), window(5, np.mean), noise=0.1, long=True),
    Case("weekday", "calendar", ("next",), ("day",), bits(1, 0.7), recur(lambda d, n: (d + n) % 7, 3)),
    Case("tariff", "energy", ("used",), ("price",), real((0, 500), digits=1),
         pointwise(lambda u: 0.1 * u if u <= 200 else 20 + 0.25 * (u - 200)), long=True),
    Case("sample_hold", "electronics", ("signal", "sample"), ("held",),
         mixed(real((-5, 5)), bits(1, 0.3)), recur(lambda h, s, b: s if b else h), shape=(150, 10, 20)),
    Case("occupied", "buildings", ("motion", "light", "door"), ("occupied",), bits(3),
         pointwise(lambda m, li, d: m or (li and not d)), flips=0.02, long=True),
    Case("degree_days", "farming", ("temperature",), ("total",), drifting(2, 24, 3, digits=1),
         recur(lambda s, t: s + max(t - 10, 0)), shape=(40, 60, 90)),
    Case("median3", "signals", ("x",), ("y",), whole((0, 30)), window(3, np.median), long=True),
)  # fmt: skip

CASES = (
    *SIMPLE,
    *(replace(case, group="hard") for case in _HARD),
    *(replace(case, group="fresh") for case in _FRESH),
)
