"""Run folders that somebody edited, damaged or built by hand: judged or refused, never believed."""

from __future__ import annotations

import json
import os
from collections.abc import Callable
from contextlib import suppress
from pathlib import Path
from typing import Any

import pytest

from weights2code.cli import main
from weights2code.json_values import MOST_DEPTH, MOST_LAG, MOST_STEPS
from weights2code.program import Program
from weights2code.verify import Certificate

RUN = ["run", "sum_last2", "--samples", "1024", "--rungs", "linear", "--quiet", "--out"]


def read(folder: Path) -> dict[str, Any]:
    return json.loads((folder / "certificate.json").read_text())


def checkable(finished: dict[str, bytes]) -> str:
    """The text of the program without what only the run knows."""
    data = json.loads(finished["certificate.json"])
    verdict = Certificate.from_dict(data).checkable().words()
    return Program.from_dict(data["program"] | {"origin": "", "verdict": verdict}).source()


def change(folder: Path, edit: Callable[[dict[str, Any]], Any]) -> dict[str, Any]:
    """Edit `certificate.json`, and let `program.py` follow where that gives a program."""
    data = read(folder)
    edit(data)
    (folder / "certificate.json").write_text(json.dumps(data))
    with suppress(ValueError, TypeError, KeyError):
        (folder / "program.py").write_text(Program.from_dict(data["program"]).source())
    return data


def snapshot(folder: Path) -> dict[str, bytes]:
    return {item.name: item.read_bytes() for item in folder.iterdir()}


def refused(folder: Path, capsys: pytest.CaptureFixture[str], *command: str) -> str:
    """What a command says that ends with 2 and changes nothing."""
    before = snapshot(folder)
    assert main([*(command or ("verify",)), str(folder)]) == 2
    error = capsys.readouterr().err
    assert error.count("\n") == 1
    assert snapshot(folder) == before
    return error


# -- the text ------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    "hidden",
    [
        "    if T > 1000:\n        return y + 1\n",
        "    if np.max(x) > 10 ** 9:\n        return y + 1\n",
        "    if T == 37 and np.sum(x) == 0:\n        return y + 1\n",
    ],
)
def test_a_branch_that_no_test_would_find_is_found(folder: Path, hidden: str, capsys):
    text = (folder / "program.py").read_text()
    changed = text.replace("    return y", f"{hidden}    return y")
    assert changed != text
    (folder / "program.py").write_text(changed)
    assert main(["verify", str(folder)]) == 1
    line = text.splitlines().index("    return y") + 1
    assert f"line {line} is not what the recurrence in certificate.json gives" in read(folder)["method"]
    assert (folder / "program.py").read_text() == changed


def test_words_comments_and_layout_are_free_and_put_right(folder: Path, finished: dict[str, bytes]):
    text = (folder / "program.py").read_text()
    changed = text.replace("Verdict: Proved", "Verdict: never proved").replace(" + ", "+") + "\n# mine\n"
    assert changed != text
    (folder / "program.py").write_text(changed)
    assert main(["verify", str(folder), "--quiet"]) == 0
    assert (folder / "program.py").read_text() == checkable(finished)


# -- what the certificate claims -----------------------------------------------------------------------------


@pytest.mark.parametrize(
    "edit",
    [
        lambda p: p.update(domains=[{"kind": "bits", "low": 0, "high": 1}]),
        lambda p: p.update(domains=[{"kind": "reals", "low": 0, "high": 99}]),
        lambda p: p.update(integer_outputs=False),
        lambda p: p.update(name="another"),
        lambda p: p.update(regime="rounded"),
        lambda p: p.update(regime="with mistakes"),
    ],
)
def test_what_the_task_says_is_not_the_certificates_to_change(folder: Path, edit, capsys):
    change(folder, lambda data: edit(data["program"]))
    for command in ("verify", "report"):
        assert "and of sum_last2" in refused(folder, capsys, command)


def wrong_rule(data: dict[str, Any]) -> None:
    data["program"]["recurrence"]["steps"][-1]["definition"]["args"][0] = {"var": "x", "lag": 2}


@pytest.mark.slow
def test_a_wrong_rule_that_claims_to_be_proved(folder: Path, capsys):
    change(folder, wrong_rule)
    assert read(folder)["verdict"] == "proved"
    assert main(["report", str(folder)]) == 0
    assert "The program is wrong" in (folder / "report.html").read_text()
    assert main([*RUN, str(folder)]) == 1
    assert read(folder)["verdict"] == "failed"
    assert "The program is wrong" in (folder / "program.py").read_text()


def test_a_finished_folder_does_not_keep_a_claim_that_it_did_not_earn(folder: Path, finished):
    change(folder, lambda data: data.update(method="trust me", domain=["reals -1e+09..1e+09"]))
    right = read(folder)["program"] | {"verdict": "", "origin": ""}
    certificate = json.loads(finished["certificate.json"])
    data = read(folder)
    data["program"]["verdict"] = "Proved for all numbers"
    (folder / "certificate.json").write_text(json.dumps(data))
    (folder / "program.py").write_text(Program.from_dict(data["program"]).source())
    assert main([*RUN, str(folder)]) == 0
    assert read(folder)["explanation"] == certificate["explanation"]
    assert read(folder)["program"] | {"verdict": ""} == right
    assert (folder / "program.py").read_text() == checkable(finished)


def test_a_finished_folder_stays_as_the_run_left_it(folder: Path, finished: dict[str, bytes]):
    assert main([*RUN, str(folder)]) == 0
    assert (folder / "certificate.json").read_bytes() == finished["certificate.json"]
    assert (folder / "program.py").read_bytes() == finished["program.py"]


def test_how_a_run_came_about_is_not_taken_from_its_files(folder: Path, capsys: pytest.CaptureFixture[str]):
    """Forged, and then verified, reported, and run again."""

    def forge(data: dict[str, Any]) -> None:
        data["network"] |= {"made": "written", "trained_on": 987654, "read": 3}
        data |= {"rule": {"cut": 5, "nodes": ["V99_FORGED"]}, "model_fits": False, "origin": "forged"}
        data["program"]["origin"] = "forged"
        data["attempts"] = [data["attempts"][0] | {"rung": "forged"}]
        data["notes"] = ["forged; the rule was regressed from the values that it forged"]

    change(folder, forge)
    (folder / "program.py").write_text(Program.from_dict(read(folder)["program"]).source())
    for command in (["report", str(folder)], [*RUN[:-2], "--out", str(folder)], ["verify", str(folder)]):
        assert main(command) == 0
        said = capsys.readouterr().out + (folder / "report.html").read_text()
        if command[0] != "report":
            said += "".join((folder / name).read_text() for name in ("program.py", "certificate.json"))
        for word in ("forged", "FORGED", "written from the program", "987654", "cut 5"):
            assert word not in said, (command, word)
    found = read(folder)
    assert (found["model_fits"], found["rule"], found["attempts"]) == (None, None, [])
    assert [found["network"][name] for name in ("made", "trained_on", "read", "member")] == [None] * 3 + [0]


# -- damage --------------------------------------------------------------------------------------------------


def nested(depth: int) -> Any:
    """A formula of so many levels."""
    made: Any = {"var": "x", "lag": 0}
    for _ in range(depth - 1):
        made = {"op": "add", "args": [made, 1]}
    return made


def put(definition: Any) -> Callable[[dict[str, Any]], None]:
    return lambda data: data["program"]["recurrence"]["steps"][-1].update(definition=definition)


def steps(count: int) -> Callable[[dict[str, Any]], None]:
    made = [{"name": f"s{i}", "definition": {"var": "x", "lag": 0}} for i in range(count)]
    return lambda data: data["program"]["recurrence"]["steps"].extend(made)


DAMAGE: dict[str, Callable[[dict[str, Any]], Any]] = {
    "start is a list": lambda data: data["program"]["recurrence"].update(start=[]),
    "a start is a list": lambda data: data["program"]["recurrence"]["start"].update(x=[]),
    "a start is no number": lambda data: data["program"]["recurrence"]["start"].update(x="nan"),
    "a denominator of 0": put({"op": "add", "args": [{"var": "x", "lag": 0}, ["fraction", 1, 0]]}),
    "400 digits": put(10**400),
    "a number that is none": put(float("nan")),
    "an infinite constant": put(float("inf")),
    "a negative lag": put({"var": "x", "lag": -1}),
    "a lag beyond all": put({"var": "x", "lag": MOST_LAG + 1}),
    "a lag of half": put({"var": "x", "lag": 0.5}),
    "nested too deeply": put(nested(MOST_DEPTH + 1)),
    "too many steps": steps(MOST_STEPS),
    "a number for a name": lambda data: data["program"]["recurrence"].update(inputs=[-1]),
    "a name twice": lambda data: data["program"]["recurrence"].update(inputs=["x", "x"]),
    "an unknown domain": lambda data: data["program"]["domains"][0].update(kind="complex"),
    "an empty domain": lambda data: data["program"]["domains"][0].update(low=5, high=4),
    "half an integer": lambda data: data["program"]["domains"][0].update(low=0.5),
    "a domain in words": lambda data: data["program"]["domains"][0].update(low="0"),
    "truth in words": lambda data: data["program"].update(integer_outputs="false"),
    "a count beyond all": lambda data: data["target"].update(sequences=10**30),
    "an unknown verdict": lambda data: data.update(verdict="certain"),
    "attempts that are none": lambda data: data.update(attempts=[3]),
    "lengths in words": lambda data: data.update(lengths=["10"]),
    "no program": lambda data: data.pop("program"),
}


@pytest.mark.parametrize("name", DAMAGE)
def test_a_damaged_certificate_is_one_sentence(folder: Path, name: str, capsys):
    change(folder, DAMAGE[name])
    refused(folder, capsys)
    refused(folder, capsys, "report")


@pytest.mark.parametrize(
    "edit", [put(nested(MOST_DEPTH)), steps(MOST_STEPS - 1), put({"var": "x", "lag": MOST_LAG})]
)
@pytest.mark.slow
def test_what_lies_within_the_limits_is_judged(folder: Path, edit, capsys):
    change(folder, edit)
    assert main(["verify", str(folder)]) in (0, 1)
    assert "Traceback" not in capsys.readouterr().err


# -- files that are none -------------------------------------------------------------------------------------


def link_out(file: Path) -> None:
    outside = file.parent.parent / "outside"
    outside.write_text("{}")
    file.symlink_to(outside)


def gigabytes(file: Path) -> None:
    with open(file, "wb") as made:
        made.truncate(5 << 30)


@pytest.mark.parametrize(
    "make", [os.mkfifo, link_out, lambda file: file.symlink_to("/dev/zero"), Path.mkdir, gigabytes]
)
@pytest.mark.parametrize(
    ("name", "command"),
    [
        ("config.json", "verify"),
        ("certificate.json", "verify"),
        ("graph.json", "report"),
        ("program.py", "verify"),
        ("model.safetensors", "extract"),
        ("taught.safetensors", "verify"),
        ("metrics.jsonl", "report"),
    ],
)
def test_only_plain_files_are_read(folder: Path, name: str, command: str, make, capsys):
    (folder / name).unlink(missing_ok=True)
    make(folder / name)
    assert main([command, str(folder)]) == 2
    error = capsys.readouterr().err
    assert error.count("\n") == 1
    assert name in error


@pytest.mark.parametrize("name", ["checkpoint", "plots"])
def test_a_subfolder_does_not_lead_elsewhere(folder: Path, tmp_path: Path, name: str, capsys):
    (tmp_path / "outside").mkdir()
    (folder / name).symlink_to(tmp_path / "outside")
    for command in (["report", "--plots", "svg"], ["extract"]):
        assert main([*command, str(folder)]) == 2
    assert "is not a plain folder" in capsys.readouterr().err
    assert os.listdir(tmp_path / "outside") == []


def test_nothing_is_written_through_a_link_that_waits_for_it(folder: Path, tmp_path: Path):
    """As if somebody had guessed the name of a file that is about to be written."""
    (tmp_path / "outside").write_text("mine")
    (folder / f".program.py.{os.getpid()}.part").symlink_to(tmp_path / "outside")
    assert main(["verify", str(folder), "--quiet"]) == 0
    assert (tmp_path / "outside").read_text() == "mine"
