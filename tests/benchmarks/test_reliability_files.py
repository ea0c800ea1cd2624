"""A share of the attacks on files, folders and commands, and that their judges are no easy ones."""

from __future__ import annotations

import json
from pathlib import Path

import case
import chain
import commands
import folders
import numpy as np
import provenance
import pytest
import unsolvable
from commands import Command, Ended

pytest.importorskip("pyarrow")
import files
import strict_reading

SEED = 7


# -- data files ----------------------------------------------------------------------------------------------


@pytest.mark.filterwarnings("ignore:Duplicate name")
@pytest.mark.parametrize("first", range(0, 60, 20))
def test_files_are_refused_or_read_as_what_they_say(first: int):
    found = [files.attack(number, seed=0) for number in range(first, first + 20)]
    assert not [result for result in found if result.failure]
    assert {result.outcome for result in found} == {"refused", "read"}


@pytest.mark.parametrize("cell", ["1_000", "\u0661", '"1"2', "9007199254740993", "nan", "", "1e-400", "1,5"])
def test_the_second_reading_refuses_what_is_unclear(tmp_path: Path, cell: str):
    path = tmp_path / "data.csv"
    path.write_text(f"x,y\n1,2\n3,{cell}\n")
    with pytest.raises(strict_reading.Unclear):
        strict_reading.read(path, ["x"], ["y"], None, None)
    path.write_text('x,y\n1,2\n3,"4"\n')
    assert strict_reading.read(path, ["x"], ["y"], None, None) == [([[1.0], [3.0]], [[2.0], [4.0]])]


@pytest.mark.slow
@pytest.mark.parametrize("kind", ["all zero", "three rows", "two columns alike", "time index", "random bits"])
def test_files_without_a_rule_end_as_they_may(kind: str):
    assert unsolvable.attack(list(unsolvable.KINDS).index(kind), seed=0).failure == ""


PROGRAM = """
__all__ = ["program"]
def program(data):
    return 2 * data
"""
MISTAKES = "the data are not exact: 2.5 % of the rows disagree with it"
NOISE = "the data are not exact: out0 scatters by 0.1 (3 % of its spread) around the program"
INPUTS = np.arange(40.0)[:, None]


@pytest.mark.parametrize(
    ("notes", "targets", "said"),
    [
        ([], 2 * INPUTS, ""),
        ([], 2 * INPUTS + (INPUTS == 3), "1 of 40 values of out0 are wrong"),
        ([MISTAKES], 2 * INPUTS + (INPUTS == 3), ""),
        ([MISTAKES], INPUTS, "of the rows are wrong"),
        ([NOISE], 2 * INPUTS + 0.1 * np.sin(INPUTS), ""),
        ([NOISE], 2 * INPUTS + 1, "out0 is off by"),
    ],
)
def test_claims_are_compared_with_the_file(tmp_path: Path, notes, targets, said):
    path = tmp_path / "program.py"
    path.write_text(PROGRAM)
    log = unsolvable.Log([INPUTS], [targets])
    failure = unsolvable.claims({"one_step": False, "notes": notes}, log, path)
    assert said in failure
    assert bool(said) == bool(failure)


# -- run folders ---------------------------------------------------------------------------------------------


@pytest.mark.slow
@pytest.mark.parametrize(
    ("attack", "number"),
    [
        *((folders.attack, number) for number in range(len(folders.WAYS))),
        *((provenance.attack, number) for number in range(len(provenance.FORGERIES))),
    ],
)
def test_a_changed_folder_is_not_believed(attack, number: int):
    result = attack(number, SEED)
    assert result.failure == "", result.detail
    assert result.outcome.startswith("exit ")


@pytest.mark.slow
def test_a_command_that_believes_everything_is_found_out(monkeypatch: pytest.MonkeyPatch):
    folders.prepare()
    parity = chain.base("parity")
    monkeypatch.setattr(case, "main", lambda arguments: 0)
    monkeypatch.setattr(folders, "WAYS", {"another rule": folders.WAYS["the recurrence, with its text"]})
    assert any(folders.attack(number, SEED).failure for number in range(10))
    assert "not found" in chain.attacked(parity, "one weight", np.random.default_rng(1)).failure


NETWORK = '"network": {"made": null, "trained_on": 0, "read": null}'
PLAIN = '"rule": null, "model_fits": null, "attempts": []'


@pytest.mark.parametrize(
    ("name", "text", "said"),
    [
        ("report.html", "a forged rule", "'forged'"),
        ("program.py", "It is as it\n was trained.", "is as it was trained"),
        ("what is printed", f"trained on {provenance.NUMBER} times", "a forged number"),
        ("certificate.json", '{"rule": {"cut": 0}, "model_fits": null, "attempts": []}', "rule"),
        ("certificate.json", f"{{{NETWORK}, {PLAIN}}}", "trained_on"),
        ("certificate.json", f"{{{PLAIN}}}", ""),
    ],
)
def test_a_repeated_history_would_be_noticed(name: str, text: str, said: str):
    found = provenance.repeated(name, text)
    assert said in found
    assert bool(said) == bool(found)


# -- commands ------------------------------------------------------------------------------------------------

LINE = "w2c run: stopped; the same command with the same --out continues.\n"


@pytest.mark.parametrize(
    ("end", "part"),
    [
        (Ended(130, "", LINE), ""),
        (Ended(0, '{"exit_code": 0, "seconds": 1.0}', ""), ""),
        (Ended(130, "", LINE + LINE), "one line"),
        (Ended(130, "", "Traceback\n"), "one line"),
        (Ended(-6, "", "terminate called\n"), "exit code -6"),
        (Ended(0, "", ""), "no result"),
        (Ended(130, '{"exit_code"', LINE), "half a result"),
        (Ended(0, '{"exit_code": 1}', ""), "another result"),
    ],
)
def test_what_a_clean_end_is(end: Ended, part: str):
    found = commands.wrong("stopped", end, Ended(0, '{"exit_code": 0, "seconds": 2.0}', ""))
    assert part in found
    assert bool(part) == bool(found)


def test_only_seconds_may_differ_and_nothing_is_lost_or_left(tmp_path: Path):
    both = tmp_path / "one", tmp_path / "other"
    for folder, seconds in zip(both, (1.0, 2.0), strict=True):
        folder.mkdir()
        (folder / "program.py").write_text("y = x\n")
        said = {"verdict": "proved", "attempts": [{"seconds": seconds, "rung": "linear"}]}
        (folder / "certificate.json").write_text(json.dumps(said))
    command = Command("run", ("run", "abs"), ("program.py", "certificate.json"))
    assert commands.difference(command, *both) == ""
    (both[1] / "certificate.json").write_text('{"verdict": "proved", "attempts": []}')
    assert commands.difference(command, *both) == "certificate.json differs"
    (both[1] / "program.py").unlink()
    assert commands.difference(command, *both) == "program.py is only in one"
    (both[1] / ".x.12.part").touch()
    assert "left behind" in commands.difference(command, *both)


def test_a_case_is_made_from_its_number(tmp_path: Path):
    drawn = [commands.draw(np.random.default_rng([0, 2]), tmp_path, ("fit",)) for _ in range(2)]
    assert drawn[0] == drawn[1]
    assert Path(drawn[0].arguments[1]).read_text().startswith("s,x,z,y\n0,")
    for make in unsolvable.KINDS.values():
        first, second = (make(np.random.default_rng(0)) for _ in range(2))
        for one, other in zip([*first.x, *first.y], [*second.x, *second.y], strict=True):
            assert np.array_equal(one, other)


@pytest.mark.slow
@pytest.mark.parametrize(("attack", "number"), [(commands.kills, 0), (commands.interrupts, 2)])
def test_a_disturbed_command_goes_on(attack, number: int):
    assert attack(number, 0).failure == ""
