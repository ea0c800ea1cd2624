"""An account statement: whole numbers, and a fee that nobody mentioned.

    python examples/bank_balance.py

The same on the command line:

    w2c fit examples/data/bank.csv --inputs paid_in,paid_out --targets balance --order month
"""

from pathlib import Path

import pandas

from weights2code import ProgramRegressor

statement = pandas.read_csv(Path(__file__).parent / "data" / "bank.csv")
model = ProgramRegressor().fit(statement[["paid_in", "paid_out"]], statement["balance"])
print(*model.equations_, sep="\n")
print(model.certificate_.explain())

months = pandas.DataFrame({"paid_in": [100, 0, 0, 200, 0], "paid_out": [150, 0, 0, 0, 0]})
print("balance:", model.predict(months).astype(int).tolist())
