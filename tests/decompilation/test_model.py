"""How a model is asked, what is found out about it, and how one that cannot be asked is refused."""

from contextlib import closing
from pathlib import Path

import numpy as np
import pytest

from decompilation import models
from weights2code.decompilation.driver import host_of
from weights2code.decompilation.feeds import Form
from weights2code.decompilation.hosts import Apart, Own
from weights2code.decompilation.model import Asking, Reading, _meant, encoded, introduced
from weights2code.errors import InputError
from weights2code.language import BITS, integers, reals

FILE = Path(__file__).with_name("models.py")
BIT = {"x": BITS}


def known(name, columns=BIT, length=8, **asking):
    return introduced(Own(getattr(models, name)), columns, Asking(length, **asking))


def test_largest_of_two_is_read():
    model = known("parity")
    outputs, margins = model(np.array([[[1.0], [1.0], [0.0], [1.0]]]))
    assert model.reading.kind == "argmax"
    assert outputs[0, :, 0].tolist() == [1, 0, 0, 1]
    assert margins.min() == 1
    assert model.longest is None


@pytest.mark.parametrize(
    ("name", "said", "answers"),
    [
        ("last_alone", "it gives the last position alone", [2, 1, 2]),
        ("time_first", "the first axis is time", [2, 1, 2]),
        ("looks_ahead", "later inputs change earlier outputs", [0, 0, 1]),
    ],
)
def test_what_is_found_out_is_said_and_done(name, said, answers):
    model = known(name, {"x": integers(0, 2)})
    assert any(said in line for line in model.found_out)
    assert model(np.array([[[2.0], [2.0], [1.0]]]))[0][0, :, 0].tolist() == answers


def test_one_hot_is_found_out_and_can_be_said():
    columns = {"x": integers(1, 4)}
    found = known("one_hot", columns)
    assert found.form.kind == "one-hot"
    assert found(np.array([[[1.0], [4.0]]]))[0][0, :, 0].tolist() == [1, 0]
    assert known("one_hot", columns, one_hot=4).form == Form("one-hot", "float64", 4)


def test_longest_is_found_out():
    assert known("short").longest == 16
    assert known("short", longest=12).longest == 12


def test_steps_are_taken_one_after_the_other():
    model = known("Steps", {"x": integers(-5, 5)})
    assert model(np.array([[[3.0], [-5.0], [4.0]]]))[0][0, :, 0].tolist() == [3, 0, 4]
    with pytest.raises(InputError, match="gives other outputs step by step"):
        known("Untrue", {"x": integers(-5, 5)})


def test_two_columns_side_by_side():
    x = np.array([[[1.0, 0.0], [2.0, 1.0]]])
    given = encoded(x, (integers(1, 2), BITS), Form("one-hot", "float32", None))
    assert given[0].tolist() == [[1, 0, 1, 0], [0, 1, 0, 1]]


@pytest.mark.parametrize(
    ("name", "said"),
    [
        ("random", "when it is asked again"),
        ("of_the_batch", "other sequences stand in the batch"),
        ("no_number", "gives nan, which is no number, for the inputs 0, 1"),
        ("raises", "raises ValueError: this is wrong, for the inputs"),
        ("imaginary", "the model gives complex numbers in place of numbers, for the inputs"),
        ("talks", "the model gives text in place of numbers, for the inputs"),
    ],
)
def test_what_is_no_function_is_refused_in_a_sentence(name, said):
    with pytest.raises(InputError, match=said):
        known(name)


@pytest.mark.parametrize(
    ("name", "said"),
    [
        ("hangs", r"did not answer within 0\.5 s, for the"),
        ("ends", r"ended its process \(exit code 7\)"),
    ],
)
def test_process_that_gives_no_answer_is_a_sentence(name, said):
    with closing(host_of(f"{FILE}:{name}")) as host:
        host.seconds = 0.5
        with pytest.raises(InputError, match=said):
            introduced(host, BIT, Asking(4))


def test_file_runs_apart_and_may_talk():
    with closing(host_of(f"{FILE}:loud")) as host:
        assert isinstance(host, Apart)
        assert host.ask(np.ones((2, 3, 1))).tolist() == [[1, 0, 1], [1, 0, 1]]


@pytest.mark.parametrize(
    ("model", "said"),
    [
        ("missing.onnx", "there is no model missing.onnx"),
        (str(FILE), "name the model in"),
        (f"{FILE}:nothing", "defines no nothing"),
        (f"{FILE}:number", "which int cannot be"),
    ],
)
def test_what_is_no_model_is_refused(model, said):
    with pytest.raises(InputError, match=said):
        host_of(model)


@pytest.mark.parametrize(
    ("given", "said"),
    [
        ({"read": "real:0"}, "--read must be"),
        ({"read": "max"}, "--read must be"),
        ({"longest": 3}, "less than --length"),
        ({"length": 0}, "--length must be at least 1"),
        ({"queries": 10}, "--queries must be at least"),
    ],
)
def test_options_that_mean_nothing_are_refused(given, said):
    with pytest.raises(InputError, match=said):
        Asking(**given)


def test_reals_are_within_a_tolerance():
    model = known("average", {"v": reals(0, 1)}, read="real:1e-3")
    assert model.reading == Reading("real", 1e-3)
    assert known("average", {"v": reals(0, 1)}).reading.kind == "real"


def test_scores_that_are_whole_are_no_outputs():
    y = np.random.default_rng(0).integers(0, 3, (20, 6))
    assert _meant(5.0 * np.eye(3)[y] - 2) == "argmax"
    counters = np.stack([np.cumsum(y, 1), y], -1).astype(float)
    assert _meant(counters) == "round"
    assert _meant(np.stack([y > 0, y > 1], -1).astype(float)) == "round"
    assert _meant(counters[..., :1]) == "round"
    assert _meant(8.0 * (y[..., None] > 1) - 4.3) == "sign"
    assert _meant(y[..., None] / 3 + 0.2) == "real"
