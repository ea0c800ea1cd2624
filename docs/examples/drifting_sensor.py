"""A sensor with drift: a scale of 1.8, an offset that creeps up by 0.05 an hour, and noise.

Writes sensor.csv. `hours` counts since the last calibration, which comes at irregular times; readings are
written with three decimals.
"""

import csv

import numpy as np

rng = np.random.default_rng(2)
hours = 0
with open("sensor.csv", "w", newline="") as file:
    log = csv.writer(file)
    log.writerow(["temperature", "hours", "reading"])
    for _ in range(2000):
        hours = 0 if rng.random() < 0.05 else hours + 1
        temperature = round(float(rng.uniform(-10, 40)), 2)
        reading = 1.8 * temperature + 0.05 * hours + rng.normal(0, 0.1)
        log.writerow([temperature, hours, round(reading, 3)])
