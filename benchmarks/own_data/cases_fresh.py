"""Files that were written after the package: each law was put down first, then the file, then one fit.

The first results, before anything was changed because of them, are `results/fresh_first.json`.
"""

from __future__ import annotations

from dataclasses import replace

import numpy as np
from case_kinds import Case, Draw, Machine, bits, mixed, pointwise, real, recur, whole, window


def drifting(low: float, high: float, most: float, digits: int = 0) -> Draw:
    """A column that moves by at most `most` a step."""

    def draw(rng: np.random.Generator, T: int) -> np.ndarray:
        value, out = rng.uniform(low, high), []
        for _ in range(T):
            value = float(np.clip(value + rng.uniform(-most, most), low, high))
            out.append(round(value, digits))
        return np.array(out)[:, None]

    return draw


def among(*values: float) -> Draw:
    """One column of values from a list."""
    return lambda rng, T: rng.choice(np.array(values, float), T)[:, None]


def vending(x: np.ndarray) -> np.ndarray:
    """Coins add up; at 7 a bottle comes out and 7 are taken off."""
    credit, out = 0, []
    for (coin,) in x.astype(int).tolist():
        credit += coin
        bottle = int(credit >= 7)
        credit -= 7 * bottle
        out.append((credit, bottle))
    return np.array(out, float)


def cusum(x: np.ndarray) -> np.ndarray:
    """What exceeds 5.5 adds up; above 4 there is an alarm."""
    total, out = 0.0, []
    for (value,) in x.tolist():
        total = max(total + value - 5.5, 0.0)
        out.append((total, float(total > 4)))
    return np.array(out)


def garage(x: np.ndarray) -> np.ndarray:
    """Cars in and out of 20 places, and the sign that says full."""
    cars, out = 0, []
    for enter, leave in x.astype(int).tolist():
        cars = min(max(cars + enter - leave, 0), 20)
        out.append((cars, int(cars == 20)))
    return np.array(out, float)


def velocity_form(x: np.ndarray) -> np.ndarray:
    """A PI controller: the output changes with the change of the error and with the error, and is limited."""
    out, before, given = 0.0, 0.0, []
    for (error,) in x.tolist():
        out = min(max(out + 0.8 * (error - before) + 0.2 * error, -10.0), 10.0)
        before = error
        given.append(out)
    return np.array(given)[:, None]


def from_first(weight: float) -> Machine:
    """Exponential smoothing that begins with the first value itself."""

    def machine(x: np.ndarray) -> np.ndarray:
        out = [x[0, 0]]
        for value in x[1:, 0].tolist():
            out.append(weight * value + (1 - weight) * out[-1])
        return np.array(out)[:, None]

    return machine


def feedback(x: np.ndarray) -> np.ndarray:
    """A shift register with feedback from places 1 and 3."""
    out: list[int] = []
    for (bit,) in x.astype(int).tolist():
        out.append(bit ^ (out[-1] if out else 0) ^ (out[-3] if len(out) > 2 else 0))
    return np.array(out, float)[:, None]


_CASES = (
    Case("irrigation", "farming", ("moisture", "rain"), ("valve",), mixed(drifting(10, 60, 9), bits(1, 0.15)),
         recur(lambda v, m, r: 0 if r else 1 if m < 25 else 0 if m >= 40 else v), shape=(120, 20, 40)),
    Case("lift", "mechanics", ("call",), ("floor",), whole((0, 5)),
         recur(lambda f, c: f + (c > f) - (c < f)), shape=(80, 15, 30)),
    Case("garage", "parking", ("enter", "leave"), ("cars", "full"), whole((0, 4), (0, 4)), garage, long=True),
    Case("vending", "commerce", ("coin",), ("credit", "bottle"), among(0, 1, 2, 5), vending,
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
    Case("forecast", "commerce", ("sales",), ("forecast",), whole((20, 80)), from_first(0.2),
         shape=(100, 12, 30)),
    Case("cusum", "quality", ("value",), ("excess", "alarm"), real((2, 8), digits=1), cusum,
         shape=(100, 20, 30)),
    Case("pi_controller", "control", ("error",), ("output",), real((-6, 6), digits=1), velocity_form,
         long=True),
    Case("dose", "medicine", ("dose",), ("amount",), among(0, 0, 0, 50, 100),
         recur(lambda a, d: 0.85 * a + d), noise=2.0, shape=(60, 24, 24)),
    Case("queue", "services", ("arrivals",), ("waiting",), whole((0, 6)),
         recur(lambda q, a: max(q + a - 3, 0)), shape=(60, 30, 60)),
    Case("burglar", "safety", ("armed", "motion", "reset"), ("siren",), bits(3, 0.35),
         recur(lambda y, a, m, r: int((y or (a and m)) and not r)), shape=(150, 10, 20)),
    Case("shift_register", "coding", ("bit",), ("out",), bits(1), feedback, shape=(100, 16, 32)),
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

FRESH = tuple(replace(case, group="fresh") for case in _CASES)
