"""Account statements: many short sequences, whole numbers, a fee that nobody mentioned.

python examples/bank_balance.py
"""

from pathlib import Path

from weights2code import pipeline
from weights2code.data import file_source
from weights2code.settings import Settings

STATEMENTS = Path(__file__).parent / "data" / "balance.csv"

source = file_source(STATEMENTS, ["paid_in", "paid_out"], ["balance"], sequence="account", order="week")
outcome = pipeline.run(source, Settings())
assert outcome.program is not None
assert outcome.certificate is not None
print(outcome.program.formula())
print(outcome.certificate.explain())

weeks = [(100, 150), (0, 0), (0, 0), (200, 0), (0, 0)]
print("balance:", outcome.program.run(weeks).astype(int).tolist())
