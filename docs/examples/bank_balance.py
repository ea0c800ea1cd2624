"""A bank balance: money in, money out, and a fee of 2 in every month that would end below zero.

Writes bank.csv: one long sequence of whole amounts, one row a month.
"""

import csv

import numpy as np

rng = np.random.default_rng(1)
balance = 0
with open("bank.csv", "w", newline="") as file:
    statement = csv.writer(file)
    statement.writerow(["month", "paid_in", "paid_out", "balance"])
    for month in range(1500):
        paid_in = int(rng.integers(0, 40))
        paid_out = int(rng.integers(0, 40)) if balance > 0 else int(rng.integers(0, 25))
        balance = balance + paid_in - paid_out
        if balance < 0:
            balance -= 2
        statement.writerow([month, paid_in, paid_out, balance])
