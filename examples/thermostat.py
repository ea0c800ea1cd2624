"""A thermostat log: when does the heater go on and off? The rule remembers its own last output.

    python examples/thermostat.py

The same on the command line:

    w2c fit examples/data/thermostat.csv --inputs room --targets heater --order minute
"""

from pathlib import Path

from weights2code import pipeline
from weights2code.data import file_source
from weights2code.settings import Settings

LOG = Path(__file__).parent / "data" / "thermostat.csv"

outcome = pipeline.run(file_source(LOG, ["room"], ["heater"], order="minute"), Settings())
assert outcome.program is not None
assert outcome.certificate is not None
print(outcome.program.formula())
print(outcome.certificate.explain())

# The program runs on anything: a room that cools down and is heated up again.
room = [23.0, 22.0, 21.0, 20.0, 19.0, 18.5, 19.5, 20.5, 21.5, 22.0]
print("heater:", outcome.program.run(room).astype(int).tolist())
