"""A sensor that drifts and is reset now and then, read with noise: the rule, its digits, and the noise.

python examples/sensor_drift.py
"""

from pathlib import Path

from weights2code import pipeline
from weights2code.data import file_source
from weights2code.settings import Settings

READINGS = Path(__file__).parent / "data" / "drift.csv"

source = file_source(READINGS, ["pressure", "reset"], ["offset"], order="hour")
outcome = pipeline.run(source, Settings())
assert outcome.program is not None
assert outcome.certificate is not None
print(outcome.program.formula())
print(outcome.certificate.explain())
print(*outcome.certificate.notes, sep="\n")
