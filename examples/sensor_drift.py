"""A sensor that drifts between calibrations, read with noise: the rule, its digits, and the noise.

    python examples/sensor_drift.py

The same on the command line:

    w2c fit examples/data/sensor.csv --inputs temperature,hours --targets reading
"""

from pathlib import Path

from weights2code import pipeline
from weights2code.data import file_source
from weights2code.settings import Settings

READINGS = Path(__file__).parent / "data" / "sensor.csv"

outcome = pipeline.run(file_source(READINGS, ["temperature", "hours"], ["reading"]), Settings())
assert outcome.program is not None
assert outcome.certificate is not None
print(outcome.program.formula())
print(outcome.certificate.explain())
print(*outcome.certificate.notes, sep="\n")
