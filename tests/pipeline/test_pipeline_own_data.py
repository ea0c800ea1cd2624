"""Own data through the whole pipeline: starts, states, seasons, texts, mistakes, and the files of a run."""

from __future__ import annotations

import json
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from weights2code import pipeline
from weights2code.cli import main
from weights2code.data import Problem, file_source, from_arrays, from_lists
from weights2code.errors import InputError
from weights2code.language import BITS, uniform
from weights2code.language.formula_reading import read_recurrence
from weights2code.network.load import load_network
from weights2code.run_folder import MEMORY, begin, open_existing
from weights2code.settings import Settings

pytestmark = pytest.mark.slow
RNG = np.random.default_rng
SETTINGS = Settings(time_limit=120.0)


def write(path: Path, header: str, rows: Sequence[Sequence[Any]]) -> Path:
    path.write_text("\n".join([header, *(",".join(map(str, row)) for row in rows)]) + "\n")
    return path


def fitted(x: list[np.ndarray], y: list[np.ndarray], columns: Sequence[str] = ("x0",)) -> Any:
    outcome = pipeline.search(from_lists(x, y, tuple(columns), ("y",), seed=0), Settings(time_limit=60.0))
    assert outcome.exit_code == 0
    return outcome


# -- from arrays ---------------------------------------------------------------------------------------------


def test_rounded_readings_do_not_wait_for_the_whole_ladder():
    x = RNG(0).integers(0, 40, (1500, 1)).astype(float)
    level = read_recurrence(["x"], "y = 0.8*y[t-1] + 0.5*x[t]").run(x[None])[0]
    outcome = fitted([x], [np.round(level)])
    assert outcome.program.formula() == "y[t] = 0.5*x0[t] + 0.8*y[t-1]"
    assert all(attempt.member is None for attempt in outcome.attempts)  # no network was trained


def test_a_latch_with_mistakes_is_found():
    rng, latch = (
        RNG(1),
        read_recurrence(["on", "off"], "q = 1 if on[t] == 1 else 0 if off[t] == 1 else q[t-1]"),
    )
    x = (rng.random((120, 20, 2)) < 0.4).astype(float)
    right = latch.run(x)
    outcome = fitted(list(x), list(np.where(rng.random(right.shape) < 0.02, 1 - right, right)), ("on", "off"))
    assert outcome.certificate.verdict == "tested"
    assert any("mistakes in the data" in note for note in outcome.certificate.notes)
    fresh = (RNG(2).random((20, 80, 2)) < 0.4).astype(float)
    assert np.array_equal(outcome.program.recurrence.run(fresh), latch.run(fresh))


def test_a_reference_with_a_hidden_state_is_proved():
    machine = read_recurrence(["x"], "s = (2*s[t-1] + x[t]) % 5\ny = s[t] == 0", ["y"])

    def draw(rng: np.random.Generator, n: int, length: int) -> np.ndarray:
        return uniform(rng, (BITS,), n, length)

    x = draw(RNG(0), 1200, 20)
    data = from_arrays(x, machine.run(x))
    parts = data.take(slice(0, 1000)), data.take(slice(1000, None))
    problem = Problem("hidden", ("x",), ("y",), (BITS,), (BITS,), *parts, 20, machine, draw)
    outcome: Any = pipeline.search(problem, SETTINGS)
    assert outcome.certificate.verdict == "proved"
    assert outcome.certificate.networks()[-1][1].verdict == "proved"
    assert outcome.program.formula().startswith("state[t] = (x[t] + 2*state[t-1]) % 5\ny[t] = ")


# -- from files, with every command --------------------------------------------------------------------------


def evenness(x: np.ndarray) -> np.ndarray:
    """Whether zeros and ones so far are both even in number."""
    ones, zeros = np.cumsum(x, -1), np.cumsum(1 - x, -1)
    return ((ones % 2 == 0) & (zeros % 2 == 0)).astype(int)


def test_a_run_with_a_state_is_verified_extracted_and_loaded_again(tmp_path: Path):
    x = RNG(0).integers(0, 2, (300, 12))
    y = evenness(x)
    file = write(
        tmp_path / "rows.csv", "id,x,y", [(i, x[i, t], y[i, t]) for i in range(300) for t in range(12)]
    )
    source = file_source(file, ["x"], ["y"], "id")
    with begin(tmp_path / "run", source, SETTINGS) as folder:
        assert pipeline.run(source, SETTINGS, folder).exit_code == 0
        assert folder.has(MEMORY)
        first: Any = pipeline.finished(folder, pipeline.problem_in(folder))
    fresh = RNG(1).integers(0, 2, (20, 80))
    assert first.program.recurrence.outputs == ("y",)
    assert len(first.program.recurrence.steps) > 1
    assert np.array_equal(first.program.run(fresh[..., None])[..., 0], evenness(fresh))
    network = load_network(tmp_path / "run")
    assert np.array_equal(network(fresh[..., None])[..., -1], evenness(fresh))  # the state comes before it
    assert first.certificate.networks()[-1][1].verdict == "proved"
    for command in (pipeline.verify, pipeline.extract):
        with open_existing(tmp_path / "run") as folder:
            outcome: Any = command(folder)
        assert (outcome.exit_code, outcome.program.recurrence.outputs) == (0, ("y",))
    assert 'id="states"' in (tmp_path / "run" / "report.html").read_text()
    with open_existing(tmp_path / "run") as folder:  # a memory that was tampered with is refused
        data = json.loads(folder.read_text(MEMORY))
        data["outputs"] = ["nothing"]
        folder.write_json(MEMORY, data)
        with pytest.raises(InputError, match=r"memory\.json is damaged"):
            pipeline.verify(folder)


def test_a_long_sequence_shows_its_states_too(tmp_path: Path):
    """It is cut into windows, which see the state that came before them."""
    press = RNG(0).integers(0, 2, 1200)
    lamp = np.array(["off", "on"])[evenness(press)]
    file = write(
        tmp_path / "rows.csv", "id,press,lamp", [(0, "ab"[p], on) for p, on in zip(press, lamp, strict=True)]
    )
    source = file_source(file, ["press"], ["lamp"], "id")
    with begin(tmp_path / "run", source, SETTINGS) as folder:
        first: Any = pipeline.run(source, SETTINGS, folder)
        assert first.exit_code == 0
        assert folder.has(MEMORY)
        assert first.program.run(["a", "a", "b", "b"]).tolist() == ["off", "on", "off", "on"]
        assert pipeline.verify(folder).exit_code == 0


def test_a_rule_with_a_season_goes_through_every_command(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
):
    monkeypatch.chdir(tmp_path)
    rng = RNG(0)
    x, y = rng.integers(0, 9, 840), rng.integers(0, 9, 840).astype(float)
    for t in range(24, 840):
        y[t] = x[t] + 0.5 * y[t - 24]
    write(Path("rows.csv"), "x,y", [*zip(x.tolist(), map(repr, y.tolist()), strict=True)])
    fit = ["fit", "rows.csv", "--inputs", "x", "--targets", "y"]
    assert main([*fit, "--out", "out", "--json"]) == 0
    result = json.loads(capsys.readouterr().out)
    assert result["formula"] == ["y[t] = x[t] + 0.5*y[t-24]"]
    assert result["certificate"]["verdict"] == "tested"
    assert any("a season of 24 rows back" in note for note in result["certificate"]["notes"])
    for later in ("verify", "extract", "report"):
        assert main([later, "out", "--quiet"]) == 0
    Path("new.csv").write_text("x\n" + "3\n" * 26)
    capsys.readouterr()
    assert main(["predict", "out", "new.csv"]) == 0
    assert "the rule looks 24 rows back" in capsys.readouterr().err
    assert main([*fit, "--season", "300", "--out", "none"]) == 2  # a season that is none is one sentence
    said = capsys.readouterr().err
    assert "--season 300 needs a sequence of at least 900 rows" in said
    assert said.count("\n") == 1
    assert not Path("none").exists()


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
    rng, out = RNG(1), tmp_path / "run"
    rows = [(i, *row) for i in range(300) for row in door(rng, 12)]
    path = write(tmp_path / "rows.csv", "id,event,state", rows)
    command = ["fit", str(path), "--targets", "state", "--sequence", "id", "--out", str(out), "--quiet"]
    assert main(command) == 0
    shown = capsys.readouterr().out
    assert 'event[t] == "close"' in shown
    assert 'state[t-1] == "open"' in shown
    assert main(["verify", str(out), "--quiet"]) == 0
    assert main(["report", str(out)]) == 0
    space: dict = {}
    exec(compile((out / "program.py").read_text(encoding="utf-8"), "program.py", "exec"), space)
    events, states = zip(*door(RNG(9), 200), strict=True)
    assert space["rows"](np.array(events, dtype=object)).tolist() == list(states)
    certificate = json.loads((out / "certificate.json").read_text(encoding="utf-8"))
    assert certificate["program"]["domains"][0]["kind"] == "texts"
