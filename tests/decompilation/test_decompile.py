"""From a model to its program, its departures and its files."""

import json
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import weights2code
from weights2code.cli import main
from weights2code.decompilation.driver import Decompiled
from weights2code.decompilation.feeds import Form
from weights2code.decompilation.hosts import Own
from weights2code.decompilation.machines import machine_of, rule_of
from weights2code.decompilation.model import Model, Reading
from weights2code.decompilation.verdict import ModelCertificate
from weights2code.errors import InputError
from weights2code.language import BITS, uniform
from weights2code.program import Program

FILE = Path(__file__).with_name("models.py")
MOVES = np.array([[1, 2], [3, 0], [4, 5], [5, 4], [0, 3], [2, 1]])
GIVES = np.array([0, 1, 0, 0, 1, 1])


def six_states(x: np.ndarray) -> np.ndarray:
    """What a machine gives, (n, T)."""
    state, answers = np.zeros(len(x), int), []
    for t in range(x.shape[1]):
        state = MOVES[state, x[:, t, 0].astype(int)]
        answers.append(GIVES[state])
    return np.stack(answers, 1)


def decompiled(name: str, length: int, **asked: Any) -> tuple[Program, ModelCertificate, Decompiled]:
    """What came of a model of bits: there must be a program."""
    found = weights2code.decompile(f"{FILE}:{name}", {"x": (0, 1)}, length, **asked)
    assert found.program is not None
    assert found.model is not None
    return found.program, found.model, found


def test_model_that_is_its_program():
    program, model, found = decompiled("parity", 6, queries=4000, against="parity")
    assert program.run([1, 0, 1, 1]).tolist() == [1, 1, 0, 1]
    assert found.exit_code == 0
    assert model.verdict == "exhaustive"
    assert found.against is not None
    assert found.against.verdict == "proved"
    assert set(found.agreement.values()) == {1.0}
    assert found.shortest is None
    assert found.margin == 1


def test_departure_is_the_shortest_there_is():
    program, model, found = decompiled("parity_to_nine", 8, queries=10_000)
    assert program.run(np.ones(12)).tolist() == [1, 0] * 6
    assert found.exit_code == 1
    assert found.shortest is not None
    assert found.shortest.inputs[:, 0].tolist() == [1] * 10
    assert (found.shortest.model, found.shortest.meant) == ((1.0,), (0.0,))
    assert model.proven_shortest
    assert model.queries <= 10_000
    assert model.exhaustive == 9


def test_rule_is_preferred_to_a_copy_of_its_mistakes():
    program, model, _ = decompiled("count_to_nine", 9, queries=4000, time_limit=60)
    assert program.formula() == "y[t] = y[t-1] + 1"
    assert model.shortest is not None
    assert len(model.shortest.inputs) == 10


def test_average_has_the_digits_that_the_tolerance_allows():
    columns = {"v": (0.0, 1.0)}
    found = weights2code.decompile(f"{FILE}:average", columns, 12, read="real:1e-3", queries=4000)
    assert found.program is not None
    assert found.program.formula() == "y[t] = 0.1*v[t] + 0.9*y[t-1]"
    assert found.exit_code == 0


def test_machine_of_six_states_takes_few_questions():
    x = uniform(np.random.default_rng(0), (BITS,), 200, 10)
    model = Model(Own(six_states), {"x": BITS}, Form("numbers", "float64"), reading=Reading("round"))
    machine = machine_of(model, x)
    assert machine is not None
    assert machine.states == 6
    assert model.queries < 300
    rule = rule_of(machine, model, ("y",), "six")
    assert rule is not None
    assert (rule.recurrence.run(x)[..., 0] == six_states(x)).all()


@pytest.mark.slow
def test_network_of_a_run_is_proved_by_the_kernel(tmp_path):
    assert main(["run", "parity_last2", "--out", str(tmp_path / "run"), "--quiet"]) == 0
    found = weights2code.decompile(str(tmp_path / "run"), {"x": (0, 1)}, 6, queries=4000)
    assert found.model is not None
    assert found.model.verdict == "proved"
    assert "rounding border" in found.model.method


def test_questions_are_counted_prefix_by_prefix():
    found = weights2code.decompile(f"{FILE}:last_alone", {"x": (0, 2)}, 6, queries=20_000)
    assert found.program is not None
    assert found.program.run([2, 2, 1, 1]).tolist() == [2, 1, 2, 0]
    assert found.model is not None
    assert found.model.queries <= 20_000


def test_constant_is_a_program():
    assert decompiled("constant", 5, queries=3000)[0].formula() == "y[t] = 1"


def test_command_leaves_files(tmp_path, capsys):
    out = tmp_path / "found"
    command = ["decompile", f"{FILE}:parity_to_nine", "--inputs", "x=0..1", "--length", "8"]
    command += ["--queries", "10000", "--against", "parity", "--out", str(out), "--json"]
    assert main(command) == 1
    said = json.loads(capsys.readouterr().out)
    stored = json.loads((out / "certificate.json").read_text())
    assert stored["model"] == said["model"]
    assert stored["verdict"] == "proved"
    assert stored["model"]["verdict"] == "departs"
    assert stored["model"]["shortest"]["proven_shortest"]
    assert stored["model"]["shortest"]["inputs"] == [[1.0]] * 10
    assert set(stored["model"]["agreement"]) == {"8", "16", "32", "80"}
    page = (out / "report.html").read_text()
    assert "After 10 inputs" in page
    assert "<script" not in page
    assert main(["verify", str(out)]) == 2
    assert "holds the program of a model that existed" in capsys.readouterr().err
    assert main([*command, "--length", "7"]) == 2
    assert "what other options gave" in capsys.readouterr().err
    table = tmp_path / "rows.csv"
    table.write_text("x\n1\n1\n0\n")
    assert main(["predict", str(out), str(table)]) == 0
    assert capsys.readouterr().out.split() == ["x,y", "1,1", "1,0", "0,0"]


@pytest.mark.parametrize("given", ["x", "x=0", "x=0..1..2", "x=a..b", "x=1..1", "=0..1"])
def test_ranges_that_are_none_are_refused(given, tmp_path, capsys):
    out = tmp_path / "none"
    assert main(["decompile", f"{FILE}:parity", "--inputs", given, "--out", str(out)]) == 2
    assert capsys.readouterr().err.count("\n") == 1
    assert not out.exists()


def test_model_that_breaks_leaves_no_folder(tmp_path, capsys):
    out = tmp_path / "broken"
    assert main(["decompile", f"{FILE}:no_number", "--inputs", "x=0..1", "--out", str(out), "--quiet"]) == 2
    assert "which is no number" in capsys.readouterr().err
    assert not out.exists()


def test_too_few_questions_are_refused():
    with pytest.raises(InputError, match="--queries must be at least"):
        weights2code.decompile(f"{FILE}:parity", {"x": (0, 1)}, queries=10)
