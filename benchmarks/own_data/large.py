"""A file of a million rows: seconds until training starts, seconds in all, and the most memory that was used.

    python benchmarks/own_data/large.py [--rows N]

Everything is counted from the start of the process, imports included; the file is written by another process.
The result is `results/large.json`.
"""

from __future__ import annotations

import argparse
import json
import resource
import subprocess
import sys
import tempfile
import time
from pathlib import Path
from typing import Any

sys.path.insert(0, str(Path(__file__).parents[1]))
from records import write_record

RESULTS = Path(__file__).parent / "results"
MEASURE = "--measure"


def write(path: Path, rows: int) -> None:
    """A tank with inflow and outflow, one long sequence."""
    import numpy as np

    rng = np.random.default_rng(0)
    inflow, outflow = rng.integers(0, 9, rows), rng.integers(0, 9, rows)
    level = 0
    with open(path, "w", encoding="utf-8") as file:
        file.write("minute,inflow,outflow,level\n")
        for t, (a, b) in enumerate(zip(inflow.tolist(), outflow.tolist(), strict=True)):
            level = min(max(level + a - b, 0), 50)
            file.write(f"{t},{a},{b},{level}\n")


def measure(path: str) -> dict[str, Any]:
    began = time.monotonic()
    from weights2code import pipeline
    from weights2code.data import file_source
    from weights2code.settings import Settings
    from weights2code.source import problem_of
    from weights2code.training import train  # noqa: F401 - imports count

    settings = Settings(time_limit=60)
    problem = problem_of(file_source(path, ["inflow", "outflow"], ["level"], order="minute"), settings)
    ready, busy = time.monotonic() - began, time.process_time()
    outcome = pipeline.search(problem, settings)
    return {
        "seconds_until_training": round(ready, 1),
        "cpu_seconds_until_training": round(busy, 1),
        "seconds": round(time.monotonic() - began, 1),
        "cpu_seconds": round(time.process_time(), 1),
        "peak_gib": round(resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 2**20, 2),
        "verdict": outcome.certificate.verdict if outcome.certificate else "not extracted",
        "formula": outcome.program.formula() if outcome.program else None,
    }


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawTextHelpFormatter)
    parser.add_argument("--rows", type=int, default=1_000_000)
    parser.add_argument(MEASURE, default=None, help=argparse.SUPPRESS)
    options = parser.parse_args()
    if options.measure:
        print(json.dumps(measure(options.measure)))
        return
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "tank.csv"
        write(path, options.rows)
        command = [sys.executable, __file__, MEASURE, str(path)]
        done = subprocess.run(command, check=True, capture_output=True, text=True)
    found = {"size": options.rows, **json.loads(done.stdout.splitlines()[-1])}
    print(json.dumps(found, indent=1))
    command = " ".join(["python benchmarks/own_data/large.py", *sys.argv[1:]])
    write_record(RESULTS / "large.json", command, **found)


if __name__ == "__main__":
    main()
