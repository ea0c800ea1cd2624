"""From a model to its program, its departures and its files."""

import json
from pathlib import Path

import numpy as np
import pytest

import weights2code
from weights2code.cli import main
from weights2code.errors import InputError

FILE = Path(__file__).with_name("models.py")


def test_model_that_is_its_program(tmp_path):
    found = weights2code.decompile(f"{FILE}:parity", {"x": (0, 1)}, 6, queries=4000, against="parity")
    assert found.program.run([1, 0, 1, 1]).tolist() == [1, 1, 0, 1]
    assert found.exit_code == 0
    assert found.model.verdict == "exhaustive"
    assert found.against.verdict == "proved"
    assert set(found.agreement.values()) == {1.0}
    assert found.shortest is None
    assert found.margin == 1


def test_departure_is_the_shortest_there_is():
    found = weights2code.decompile(f"{FILE}:parity_to_nine", {"x": (0, 1)}, 8, queries=10_000)
    assert found.program.run(np.ones(12)).tolist() == [1, 0] * 6
    assert found.exit_code == 1
    assert found.shortest.inputs[:, 0].tolist() == [1] * 10
    assert (found.shortest.model, found.shortest.meant) == ((1.0,), (0.0,))
    assert found.model.proven_shortest
    assert found.model.queries <= 10_000
    assert found.model.exhaustive == 9


def test_rule_is_preferred_to_a_copy_of_its_mistakes():
    found = weights2code.decompile(f"{FILE}:count_to_nine", {"x": (1, 2)}, 9, queries=4000, time_limit=60)
    assert found.program.formula() == "y[t] = y[t-1] + 1"
    assert len(found.shortest.inputs) == 10


def test_constant_is_a_program():
    found = weights2code.decompile(f"{FILE}:constant", {"x": (0, 1)}, 5, queries=3000)
    assert found.program.formula() == "y[t] = 1"


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
