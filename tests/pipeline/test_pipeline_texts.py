"""Tables of texts, from the file to the certificate."""

from __future__ import annotations

import json
from pathlib import Path

import numpy as np
import pytest

from weights2code.cli import main

pytestmark = pytest.mark.slow


def door(rng: np.random.Generator, length: int) -> list[tuple[str, str]]:
    state, rows = "closed", []
    moves = {
        ("open", "closed"): "open", ("close", "open"): "closed", ("lock", "closed"): "locked",
        ("unlock", "locked"): "closed",
    }  # fmt: skip
    for _ in range(length):
        event = str(rng.choice(["open", "close", "lock", "unlock"]))
        state = moves.get((event, state), state)
        rows.append((event, state))
    return rows


def test_a_table_of_texts_becomes_a_program(tmp_path: Path, capsys: pytest.CaptureFixture[str]):
    rng, path, out = np.random.default_rng(1), tmp_path / "rows.csv", tmp_path / "run"
    rows = [(i, *row) for i in range(300) for row in door(rng, 12)]
    path.write_text("\n".join(["id,event,state", *(",".join(map(str, row)) for row in rows)]) + "\n")
    command = ["fit", str(path), "--targets", "state", "--sequence", "id", "--out", str(out), "--quiet"]
    assert main(command) == 0
    shown = capsys.readouterr().out
    assert 'event[t] == "close"' in shown
    assert 'state[t-1] == "open"' in shown
    assert main(["verify", str(out), "--quiet"]) == 0
    assert main(["report", str(out)]) == 0
    space: dict = {}
    exec(compile((out / "program.py").read_text(encoding="utf-8"), "program.py", "exec"), space)
    events, states = zip(*door(np.random.default_rng(9), 200), strict=True)
    assert space["rows"](np.array(events, dtype=object)).tolist() == list(states)
    certificate = json.loads((out / "certificate.json").read_text(encoding="utf-8"))
    assert certificate["program"]["domains"][0]["kind"] == "texts"
