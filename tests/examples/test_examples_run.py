"""The examples run as they stand, and their data are what their script writes."""

from __future__ import annotations

import importlib.util
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

EXAMPLES = Path(__file__).parents[2] / "examples"


def test_the_data_are_what_the_script_writes(tmp_path: Path):
    spec = importlib.util.spec_from_file_location("make_data", EXAMPLES / "make_data.py")
    assert spec is not None
    assert spec.loader is not None
    module: Any = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    module.write_all(tmp_path)
    names = sorted(path.name for path in tmp_path.iterdir())
    assert names == sorted(path.name for path in (EXAMPLES / "data").iterdir())
    for name in names:
        assert (tmp_path / name).read_bytes() == (EXAMPLES / "data" / name).read_bytes()


@pytest.mark.slow
@pytest.mark.parametrize(
    ("script", "parts"),
    [
        ("thermostat.py", ("Tested", "heater: [0, 0, 0, 0, 0, 1, 1, 1, 1, 0]")),
        ("bank_balance.py", ("2 if paid_out", "Tested", "balance: [-52, -54, -56, 144, 144]")),
        ("sensor_drift.py", ("0.05*hours[t] + 1.8*temperature[t]", "Tested", "the data are not exact")),
    ],
)
def test_an_example_runs(script: str, parts: tuple[str, ...]):
    done = subprocess.run(
        [sys.executable, str(EXAMPLES / script)], capture_output=True, text=True, check=True
    )
    for part in parts:
        assert part in done.stdout
