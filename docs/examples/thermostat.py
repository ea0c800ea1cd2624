"""A thermostat log: temperature and window sensor in, heater relay out; the relay remembers (hysteresis).

Writes thermostat.csv. Below 19 degrees the heater goes on, from 22 on it goes off, in between it stays as it
was, and while the window is open it is off.
"""

import csv

import numpy as np

rng = np.random.default_rng(0)
with open("thermostat.csv", "w", newline="") as file:
    log = csv.writer(file)
    log.writerow(["day", "minute", "temperature", "window", "heater"])
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
            log.writerow([day, minute, temperature, window, heater])
            temperature = int(np.clip(temperature + rng.integers(-3, 4), 15, 26))
