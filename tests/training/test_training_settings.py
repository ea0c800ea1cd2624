"""Settings: checked when made, the same through JSON, and complete on the command line."""

from __future__ import annotations

import json
import math
from dataclasses import fields
from typing import get_args

import pytest

from weights2code.cli.completion import commands_of
from weights2code.cli.parser import build_parser, settings_from
from weights2code.errors import InputError
from weights2code.settings import RungName, Settings
from weights2code.training.ladder import FAST_LADDER


@pytest.mark.parametrize(
    ("wrong", "sentence"),
    [
        ({"layers": -1}, "--layers must be at least 0"),
        ({"heads": -1}, "--heads must be at least 0"),
        ({"submlps": -2}, "--submlps must be at least 0"),
        ({"arity": 0}, "--arity must be at least 1"),
        ({"hidden": 0}, "--hidden must be at least 1"),
        ({"members": 0}, "--members must be at least 1"),
        ({"epochs": -1}, "--epochs must be at least 0"),
        ({"samples": 0}, "--samples must be at least 1"),
        ({"length": 0}, "--length must be at least 1"),
        ({"seed": -1}, "--seed must lie between"),
        ({"seed": 2**32}, "--seed must lie between"),
        ({"recipe": "slow"}, "unknown recipe 'slow'"),
        ({"layout": "sideways"}, "unknown layout 'sideways'"),
        ({"device": "abacus"}, "unknown device 'abacus'"),
        ({"time_limit": 0.0}, "--time-limit must be a positive"),
        ({"time_limit": float("inf")}, "--time-limit must be a positive"),
        ({"l1": -0.1}, "--l1 must not be negative"),
        ({"l1": float("nan")}, "--l1 must not be negative"),
    ],
)
def test_bad_values_are_refused_with_a_sentence(wrong: dict, sentence: str):
    with pytest.raises(InputError, match=sentence):
        Settings(**wrong)


def test_json_form_and_back():
    settings = Settings(seed=4, layers=2, hide=("y[t-1]", "x[t-2]"), l1=0.5)
    for one in (settings, Settings(rungs=("linear", "pairs"))):
        assert Settings.from_dict(json.loads(json.dumps(one.to_dict()))) == one
    with pytest.raises(InputError, match="unknown settings: colour"):
        Settings.from_dict({"colour": 1})


def test_every_setting_is_an_option_and_every_option_a_setting():
    command = commands_of(build_parser())["run"]
    options = {action.dest: action for action in command._actions}
    other = {"help", "task", "out", "quiet", "json"}
    assert set(options) - other - {"architecture"} == {field.name for field in fields(Settings)}
    assert all(options[field.name].help for field in fields(Settings))


def test_options_become_settings():
    parser = build_parser()
    plain = parser.parse_args(["train", "sum", "--out", "x"])
    assert settings_from(plain) == Settings()
    text = "train sum --out x --seed 5 --recipe paper --heads 0 --hide y[t-1] --hide y[t-2] --time-limit 3.5"
    assert settings_from(parser.parse_args(text.split())) == Settings(
        seed=5, recipe="paper", heads=0, hide=("y[t-1]", "y[t-2]"), time_limit=3.5
    )


@pytest.mark.parametrize(
    ("text", "sizes"),
    [
        ("--architecture L2H3M2", {"layers": 2, "heads": 3, "submlps": 2}),
        ("--architecture l1p2m0", {"layers": 1, "pointer": 2, "submlps": 0}),
        (
            "--architecture K4U32E1A2S3 --arity 4",
            {"arity": 4, "hidden": 32, "equality": 1, "mean": 2, "sum": 3},
        ),
    ],
)
def test_an_architecture_in_one_word(text: str, sizes: dict[str, int]):
    options = build_parser().parse_args(["run", "sum", *text.split()])
    assert settings_from(options) == Settings(**sizes)  # type: ignore[arg-type]


@pytest.mark.parametrize(
    ("text", "sentence"),
    [
        ("L2X3", "cannot read the architecture 'L2X3'"),
        ("L2L3", "each once"),
        ("2L", "cannot read"),
        ("L2 --layers 3", "--architecture and --layers ask for 2 and 3 layers"),
        ("L2K0", "--arity must be at least 1"),
    ],
)
def test_an_architecture_that_is_none_is_refused(text: str, sentence: str):
    with pytest.raises(InputError, match=sentence):
        settings_from(build_parser().parse_args(["run", "sum", "--architecture", *text.split()]))


def test_rungs_are_named_with_commas_and_known():
    parser = build_parser()
    text = "run sum --rungs linear,wide-window --rungs pairs"
    assert settings_from(parser.parse_args(text.split())).rungs == ("linear", "wide-window", "pairs")
    with pytest.raises(InputError, match=r"unknown rungs 'high'; choose one of linear, .*, pairs"):
        Settings(rungs=("pairs", "high"))
    assert get_args(RungName) == tuple(rung.option for rung in FAST_LADDER)


def test_rungs_do_not_go_with_what_replaces_the_ladder():
    for other in ({"layers": 1}, {"recipe": "paper"}):
        with pytest.raises(InputError, match="--rungs chooses from the ladder"):
            Settings(rungs=("pairs",), **other)  # type: ignore[arg-type]


def test_what_is_asked_for_is_trained_to_its_end():
    assert Settings(rungs=("pairs",)).cut_after() == math.inf
    assert Settings(rungs=("pairs",), time_limit=5.0).cut_after() == 5.0
    assert Settings().cut_after() == Settings().time_limit
