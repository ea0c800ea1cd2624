"""Write the small data files of the examples, always the same bytes: `python examples/make_data.py`."""

from __future__ import annotations

from collections.abc import Iterable
from pathlib import Path

import numpy as np

DATA = Path(__file__).parent / "data"


def write(name: str, columns: str, rows: Iterable[tuple]) -> None:
    lines = [columns, *(",".join(str(cell) for cell in row) for row in rows)]
    (DATA / name).write_text("\n".join(lines) + "\n", encoding="utf-8")


def thermostat(rng: np.random.Generator) -> Iterable[tuple]:
    """A week of a heated room, a row every ten minutes: the heater goes on below 19, off above 21.5."""
    room, heater = 18.0, 0
    for step in range(1008):
        outside = 6 + 5 * np.sin(2 * np.pi * step / 144) + rng.normal() * 0.5
        room += 0.06 * (outside - room) + 1.6 * heater + rng.normal() * 0.6
        shown = round(float(room), 1)
        heater = 1 if shown < 19 else 0 if shown > 21.5 else heater
        yield step * 10, shown, heater


def balance(rng: np.random.Generator) -> Iterable[tuple]:
    """Forty accounts over some weeks: whole euros, and a fee of 3 whenever the balance is below zero."""
    for account in range(40):
        total = 0
        for week in range(int(rng.integers(10, 25))):
            paid_in, paid_out = (int(v) for v in rng.integers(0, 200, 2))
            total = total + paid_in - paid_out - (3 if total < 0 else 0)
            yield f"A{account:02d}", week, paid_in, paid_out, total


def drift(rng: np.random.Generator) -> Iterable[tuple]:
    """A pressure sensor that reads 4 % high, creeps up by 0.05 an hour, and is now and then reset to zero."""
    offset = 0.0
    for hour in range(1500):
        pressure, reset = round(float(rng.uniform(0, 10)), 2), int(rng.random() < 0.08)
        offset = 0.0 if reset else offset + 0.05
        yield hour, pressure, reset, round(offset + rng.normal() * 0.02, 3)


if __name__ == "__main__":
    DATA.mkdir(exist_ok=True)
    write("thermostat.csv", "minute,room,heater", thermostat(np.random.default_rng(1)))
    write("balance.csv", "account,week,paid_in,paid_out,balance", balance(np.random.default_rng(2)))
    write("drift.csv", "hour,pressure,reset,offset", drift(np.random.default_rng(3)))
