"""Write the small data files of the examples, always the same bytes: `python examples/make_data.py`."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from pathlib import Path

import numpy as np

DATA = Path(__file__).parent / "data"


def thermostat(rng: np.random.Generator) -> Iterable[tuple]:
    """Below 19 degrees the heater goes on, from 22 on it goes off, in between it stays as it was; while the
    window is open it is off. 200 days of 12 readings.
    """
    for day in range(200):
        temperature, heater = int(rng.integers(16, 26)), 0
        for minute in range(0, 240, 20):
            window = int(rng.random() < 0.15)
            if temperature < 19:
                heater = 1
            elif temperature >= 22:
                heater = 0
            if window:
                heater = 0
            yield day, minute, temperature, window, heater
            temperature = int(np.clip(temperature + rng.integers(-3, 4), 15, 26))


def bank(rng: np.random.Generator) -> Iterable[tuple]:
    """Money in, money out, and a fee of 2 in every month that would end below zero. One long sequence."""
    balance = 0
    for month in range(1500):
        paid_in = int(rng.integers(0, 40))
        paid_out = int(rng.integers(0, 40)) if balance > 0 else int(rng.integers(0, 25))
        balance = balance + paid_in - paid_out
        if balance < 0:
            balance -= 2
        yield month, paid_in, paid_out, balance


def sensor(rng: np.random.Generator) -> Iterable[tuple]:
    """A scale of 1.8, an offset that creeps up by 0.05 an hour since the last calibration, and noise."""
    hours = 0
    for _ in range(2000):
        hours = 0 if rng.random() < 0.05 else hours + 1
        temperature = round(float(rng.uniform(-10, 40)), 2)
        reading = 1.8 * temperature + 0.05 * hours + rng.normal(0, 0.1)
        yield temperature, hours, round(float(reading), 3)


#: File, header, function and seed.
FILES: tuple[tuple[str, str, Callable[[np.random.Generator], Iterable[tuple]], int], ...] = (
    ("thermostat.csv", "day,minute,temperature,window,heater", thermostat, 0),
    ("bank.csv", "month,paid_in,paid_out,balance", bank, 1),
    ("sensor.csv", "temperature,hours,reading", sensor, 2),
)


def write_all(folder: Path) -> None:
    folder.mkdir(exist_ok=True)
    for name, header, make, seed in FILES:
        rows = make(np.random.default_rng(seed))
        lines = [header, *(",".join(str(cell) for cell in row) for row in rows)]
        (folder / name).write_bytes(("\n".join(lines) + "\n").encode())


if __name__ == "__main__":
    write_all(DATA)
