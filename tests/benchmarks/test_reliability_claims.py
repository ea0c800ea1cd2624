"""A share of the attacks on step functions, awkward numbers and forged histories; and that none is easy."""

from __future__ import annotations

import sys
from copy import deepcopy
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from weights2code.errors import InputError
from weights2code.tasks import step_function
from weights2code.verify.links import Offered

FOLDER = Path(__file__).parents[2] / "benchmarks" / "reliability"
sys.path.insert(0, str(FOLDER))
try:
    import awkward  # pyright: ignore[reportMissingImports]
    import provenance  # pyright: ignore[reportMissingImports]
    import steps  # pyright: ignore[reportMissingImports]
finally:
    sys.path.remove(str(FOLDER))

SEED = 5


@pytest.mark.parametrize("number", range(30))
def test_some_step_functions(number: int):
    assert steps.attack(number, SEED).failure == ""


def test_every_kind_of_state_that_must_be_refused_is_tried():
    turns = [steps.attack(3 * turn + 2, SEED) for turn in range(len(steps.FORBIDDEN))]
    assert len({found.kind for found in turns}) == len(steps.FORBIDDEN)
    assert {(found.outcome, found.failure) for found in turns} == {("refused", "")}


def test_states_that_are_taken_for_one_would_be_noticed(monkeypatch: pytest.MonkeyPatch):
    def careless(state: Any) -> tuple[Any, Any]:
        try:
            hash(state)
        except TypeError:
            return deepcopy(state), repr(state)
        return state, state  # 1, 1.0 and True are one

    monkeypatch.setattr(step_function, "plain_state", careless)
    found = [steps.attack(number, SEED) for number in range(90)]
    assert any("taken as a state" in one.failure for one in found)
    assert any("proved, but" in one.failure or "shows no wrong" in one.failure for one in found)


#: Families that hold as things are.
HELD = ("infinite", "great powers", "sums of decimals", "rewritten")


@pytest.mark.slow
@pytest.mark.parametrize("kind", HELD)
def test_some_awkward_numbers(kind: str):
    number = list(awkward.FAMILIES).index(kind)
    for turn in range(2):
        found = awkward.attack(number + turn * len(awkward.FAMILIES), SEED)
        assert (found.kind, found.failure) == (kind, "")


@pytest.mark.slow
def test_a_careless_checker_would_be_noticed(monkeypatch: pytest.MonkeyPatch):
    certify = awkward.certify

    def careless(*given: Any, **more: Any) -> Any:
        return replace(certify(*given, **more), verdict="proved", method="trust me", proof=Offered({}))

    monkeypatch.setattr(awkward, "certify", careless)
    failed = {found.kind for number in range(36) if (found := awkward.attack(number, SEED)).failure}
    assert len(failed) >= 8


@pytest.mark.slow
@pytest.mark.parametrize("number", range(len(provenance.FORGERIES)))
def test_a_forged_history_is_not_repeated(number: int, tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    monkeypatch.chdir(tmp_path)
    found = provenance.attack(number, SEED)
    assert found.failure == "", found.detail
    assert found.outcome.startswith("exit ")


def test_a_repeated_history_would_be_noticed():
    assert "'forged'" in provenance.repeated("report.html", "a forged rule")
    assert "is as it was trained" in provenance.repeated("program.py", "It is as it\n was trained.")
    assert provenance.repeated("what is printed", f"trained on {provenance.NUMBER} times")
    assert provenance.repeated("certificate.json", '{"rule": {"cut": 0}, "model_fits": null, "attempts": []}')
    network = '"network": {"made": null, "trained_on": 0, "read": null}'
    plain = '"rule": null, "model_fits": null, "attempts": []'
    assert "trained_on" in provenance.repeated("certificate.json", f"{{{network}, {plain}}}")
    assert provenance.repeated("certificate.json", f"{{{plain}}}") == ""


def test_what_is_refused_is_an_error_of_the_user():
    with pytest.raises(InputError, match="a set"):
        step_function.plain_state(({1},))
