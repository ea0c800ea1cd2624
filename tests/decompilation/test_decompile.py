"""From a model to its program, its departures and its files."""

import json
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import weights2code
from decompilation import models
from weights2code.cli import main
from weights2code.decompilation.driver import Decompiled
from weights2code.decompilation.feeds import Form
from weights2code.decompilation.hosts import Own
from weights2code.decompilation.lines import linear_rule
from weights2code.decompilation.machines import machine_of, rule_of
from weights2code.decompilation.model import Model, Reading
from weights2code.decompilation.verdict import ModelCertificate
from weights2code.language import BITS, uniform
from weights2code.program import Program

FILE = Path(__file__).with_name("models.py")


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


def test_sum_need_not_be_near_before_it_is_rounded():
    model = Model(Own(models.nearly_sum), {"x": BITS}, Form("numbers", "float64"), reading=Reading("round"))
    found = linear_rule(model, model.some(200, 6), "y", "total")
    assert found is not None
    assert found.program.formula() == "y[t] = x[t] + y[t-1]"


@pytest.mark.parametrize(
    ("name", "mistakes", "states", "most"),
    [("six_states", False, 6, 300), ("parity_with_mistakes", True, 2, 3000)],
)
def test_machine_takes_few_questions(name, mistakes, states, most):
    x = uniform(np.random.default_rng(0), (BITS,), 200, 10)
    host = Own(getattr(models, name))
    model = Model(host, {"x": BITS}, Form("numbers", "float64"), reading=Reading("round"))
    machine = machine_of(model, x, mistakes=mistakes)
    assert machine is not None
    assert machine.states == states
    assert model.queries < most
    rule = rule_of(machine, model, ("y",), name)
    assert rule is not None
    assert np.mean(rule.recurrence.run(x) != model(x)[0]) < 0.05 * mistakes + 1e-9


@pytest.mark.slow
def test_network_of_a_run_is_proved_by_the_kernel(tmp_path):
    assert main(["run", "parity_last2", "--out", str(tmp_path / "run"), "--quiet"]) == 0
    found = weights2code.decompile(str(tmp_path / "run"), {"x": (0, 1)}, 6, queries=4000)
    assert found.model is not None
    assert found.model.verdict == "proved"
    assert "round otherwise" in found.model.method


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
    assert "which would be run; if it is yours" in capsys.readouterr().err
    assert main(["verify", str(out), "--json", "--task", f"{FILE}:parity_to_nine"]) == 1
    again = json.loads(capsys.readouterr().out)["model"]
    assert again["shortest"] == stored["model"]["shortest"]
    (out / "report.html").unlink()
    assert main(["report", str(out)]) == 0
    assert (out / "report.html").read_text().count("After 10 inputs") == 1
    assert main(["extract", str(out)]) == 2
    assert "holds the program of a model that existed" in capsys.readouterr().err
    assert main([*command, "--length", "7"]) == 2
    assert "what other options gave" in capsys.readouterr().err
    table = tmp_path / "rows.csv"
    table.write_text("x\n1\n1\n0\n")
    assert main(["predict", str(out), str(table)]) == 0
    assert capsys.readouterr().out.split() == ["x,y", "1,1", "1,0", "0,0"]


NONE = [("parity", given, "--inputs must be") for given in ("x", "x=0", "x=0..1..2", "x=a..b", "=0..1")]


@pytest.mark.parametrize(
    ("name", "given", "said"),
    [*NONE, ("parity", "x=1..1", "1"), ("no_number", "x=0..1", "which is no number")],
)
def test_what_is_refused_leaves_no_folder(name, given, said, tmp_path, capsys):
    out = tmp_path / "none"
    assert main(["decompile", f"{FILE}:{name}", "--inputs", given, "--out", str(out), "--quiet"]) == 2
    assert said in capsys.readouterr().err
    assert not out.exists()
