"""A thermostat log: when does the heater go on and off? The rule remembers its own last output.

    python examples/thermostat.py

The same on the command line:

    w2c fit examples/data/thermostat.csv --inputs temperature,window --targets heater \
        --sequence day --order minute
"""

from pathlib import Path

from weights2code import pipeline
from weights2code.data import file_source
from weights2code.settings import Settings

LOG = Path(__file__).parent / "data" / "thermostat.csv"

source = file_source(LOG, ["temperature", "window"], ["heater"], sequence="day", order="minute")
outcome = pipeline.run(source, Settings())
assert outcome.program is not None
assert outcome.certificate is not None
print(outcome.program.formula())
print(outcome.certificate.explain())

# The program runs on anything: a room that cools down and is heated up again, window closed.
room = [23, 22, 21, 20, 19, 18, 19, 20, 21, 22]
print("heater:", outcome.program.run([(degrees, 0) for degrees in room]).astype(int).tolist())
