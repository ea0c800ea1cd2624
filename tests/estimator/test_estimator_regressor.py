"""`ProgramRegressor`: manners, shapes, and scikit-learn's own checks."""

from __future__ import annotations

import subprocess
import sys
import warnings
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

from case_table import rule
from weights2code import ProgramClassifier, ProgramRegressor, pipeline
from weights2code.data import Problem
from weights2code.estimator import BadInput
from weights2code.extraction.values import Extraction
from weights2code.language import Const, Recurrence, Step, Var
from weights2code.plain_estimator import BaseEstimator
from weights2code.program import Program
from weights2code.results import Outcome
from weights2code.verify import Agreement, Certificate

sklearn = pytest.importorskip("sklearn")


def sums(rng: np.random.Generator, count: int = 60, length: int = 8) -> tuple[np.ndarray, np.ndarray]:
    x = rng.integers(0, 10, (count, length)).astype(float)
    return x, np.cumsum(x, axis=1)


@pytest.fixture
def finds(monkeypatch: pytest.MonkeyPatch) -> Callable[..., list[Problem]]:
    """Sets what a search finds, for whatever problem; returns the problems that are asked."""

    def setting(made: Callable[[Problem], Program]) -> list[Problem]:
        asked: list[Problem] = []

        def search(problem: Problem, *_: Any) -> Outcome:
            asked.append(problem)
            certificate = Certificate("tested", "made", (), "", (1,), Agreement(1, 0.0, 0.0))
            return Outcome(Extraction(None, None, made(problem), certificate), None, (), 0.0)

        monkeypatch.setattr(pipeline, "search", search)
        return asked

    return setting


# -- one that is fitted --------------------------------------------------------------------------------------


@pytest.fixture(scope="module")
def fitted() -> ProgramRegressor:
    return ProgramRegressor().fit(*sums(np.random.default_rng(0)))


def test_a_rule_is_found_and_runs_at_any_length(fitted: ProgramRegressor):
    x, y = sums(np.random.default_rng(1), 5, 50)
    assert fitted.equations_ == ("y[t] = x[t] + y[t-1]",)
    assert np.array_equal(fitted.predict(x), y)
    assert fitted.score(x, y) == 1.0
    assert fitted.certificate_.verdict == "tested"
    assert fitted.graph_ is not None
    assert fitted.graph_.outputs == ("y",)
    again = ProgramRegressor().fit(*sums(np.random.default_rng(0)))
    assert str(again.program_) == str(fitted.program_)


def test_it_is_shown_as_source_as_mathematics_and_in_notebooks(fitted: ProgramRegressor):
    assert str(fitted.program_).startswith("import numpy")
    assert repr(fitted.program_) == str(fitted.program_)
    assert fitted.latex() == r"\begin{aligned}y_{t} &= x_{t} + y_{t-1}\end{aligned}"
    (expression,) = fitted.sympy().values()
    assert sorted(str(symbol) for symbol in expression.free_symbols) == ["x_t", "y_{t-1}"]
    page = fitted._repr_html_()
    for part in ("<math", "y[t] = x[t] + y[t-1]", "Tested", "data:image/svg+xml"):
        assert part in page
    assert fitted._repr_mimebundle_()["text/html"] == page
    assert "<pre>ProgramRegressor" in ProgramRegressor()._repr_html_()


# -- what goes in --------------------------------------------------------------------------------------------


def test_lists_of_unlike_lengths():
    rng = np.random.default_rng(2)
    x = [rng.integers(0, 2, (n, 2)).astype(float) for n in rng.integers(5, 12, 60)]
    y = [item[:, 0] - 2 * item[:, 1] for item in x]
    answers = ProgramRegressor().fit(x, y).predict(x[:3])
    assert [len(answer) for answer in answers] == [len(item) for item in x[:3]]
    assert np.array_equal(answers[0], y[0])


def test_several_outputs():
    x, y = sums(np.random.default_rng(7))
    both = np.stack([y, 2 * x], 2)
    model = ProgramRegressor(axes="sequences").fit(x, both)
    assert len(model.equations_) == 2
    assert np.array_equal(model.predict(x), both)
    assert model.score(x, both) == 1.0


@pytest.mark.slow
def test_frames_in_and_their_names_in_the_formula():
    rng = np.random.default_rng(3)
    heat, cold = rng.integers(0, 9, (2, 200))
    for library in (pytest.importorskip("pandas"), pytest.importorskip("polars")):
        frame = library.DataFrame({"heat": heat, "cold": cold})
        target = library.DataFrame({"room": heat - 2 * cold})["room"]
        model = ProgramRegressor().fit(frame, target)
        assert model.equations_ == ("room[t] = heat[t] - 2*cold[t]",)
        assert model.feature_names_in_.tolist() == ["heat", "cold"]
        assert model.score(frame, target) == 1.0


def machines(count: int = 4, steps: int = 30) -> Any:
    """A frame of several machines whose rows stand in no order: a counter of each, and whether it is even."""
    pandas = pytest.importorskip("pandas")
    load = np.random.default_rng(0).integers(0, 5, (count, steps))
    total = load.cumsum(1)
    machine, step = np.divmod(np.arange(load.size), steps)
    frame = pandas.DataFrame(
        {"machine": np.array(list("pqrs"))[machine], "when": pandas.to_datetime(step, unit="h"),
         "load": load.ravel(), "total": total.ravel(), "even": total.ravel() % 2 == 0}
    )  # fmt: skip
    return frame.sample(frac=1, random_state=0, ignore_index=True)


def test_rows_of_several_sequences_in_a_frame(finds: Callable[..., list[Problem]]):
    def total(problem: Problem) -> Program:
        (x,), (y,) = problem.inputs, problem.outputs
        running = Recurrence((x,), (Step(y, Var(x) + Var(y, 1)),), (y,))
        return Program(y, running, problem.domains, True)

    finds(total)
    frame = machines()[["machine", "when", "load", "total"]]
    model = ProgramRegressor().fit(frame, "total", sequence="machine", order="when")
    assert model.feature_names_in_.tolist() == ["load"]
    answers = model.predict(frame.drop(columns="total"))
    assert answers.tolist() == frame["total"].tolist()  # in the order of the rows
    assert answers.dtype.kind == "i"
    assert model.score(frame, "total") == 1.0 > model.baseline_ > 0.5
    ordered = frame.sort_values(["machine", "when"])
    load, groups = ordered[["load"]].to_numpy(), ordered["machine"].to_numpy()
    other = ProgramRegressor().fit(load, ordered["total"], groups=groups)
    assert other.predict(load, groups=groups).tolist() == ordered["total"].tolist()
    with pytest.raises(BadInput, match="fitted with groups="):
        other.predict(load)


NUMBERS = sums(np.random.default_rng(6))
GAPS = np.array([[1.0, np.nan, 3.0], [np.nan, 2.0, 3.0]] * 5)


@pytest.mark.parametrize(
    ("arguments", "options", "own", "words"),
    [
        (lambda f: (f, "total"), {}, {}, "X, column 'machine' holds|X holds dates|'when' holds dates"),
        (lambda f: (f, "total"), {"sequence": "machin"}, {}, "did you mean 'machine'"),
        (lambda f: (f, "total"), {"sequence": "machine", "groups": [1]}, {}, "say the same"),
        (lambda f: (f[["load"]].to_numpy(), "total"), {}, {}, "columns of a DataFrame"),
        (lambda f: ([[1, 2], [3]], [[1, 2], [3]]), {}, {}, "lists that are not equally long; give a list of"),
        (lambda f: (f[["when"]], f["total"]), {}, {}, "holds dates"),
        (lambda f: (f[["load"]], f["total"]), {"groups": [1, 2]}, {}, "groups has 2 values for 120 rows"),
        (lambda f: (np.ones((30, 2)), np.ones(30)), {}, {}, "axes='samples'"),
        (lambda f: (np.ones((30, 4)), np.ones((30, 4))), {}, {}, "everywhere"),
        (lambda f: NUMBERS, {}, {"layout": "circular"}, "unknown layout"),
        (lambda f: NUMBERS, {}, {"missing": "maybe"}, "unknown missing 'maybe'; choose one of"),
        (lambda f: NUMBERS, {}, {"categories": ("z",)}, "categories= 'z' is no input and no target"),
        (lambda f: (GAPS, GAPS), {}, {}, "NaN.; 20 cells hold none.*missing='drop'.*missing='last'"),
    ],
)  # fmt: skip
def test_what_cannot_be_meant_is_one_sentence_in_the_words_of_python(arguments, options, own, words: str):
    with pytest.raises(BadInput, match=words) as caught:
        ProgramRegressor(**own).fit(*arguments(machines()), **options)
    assert "\n" not in str(caught.value)
    assert "--" not in str(caught.value)


@pytest.mark.slow
def test_texts_with_gaps_are_dropped():
    """A turnstile: open after a coin, locked after a push."""
    pandas = pytest.importorskip("pandas")
    rng = np.random.default_rng(0)
    told = [("coin", "push", "look")[i] for i in rng.integers(0, 3, 240)]
    state, states = "locked", []
    for event in told:
        state = {"coin": "open", "push": "locked"}.get(event, state)
        states.append(state)
    frame = pandas.DataFrame({"event": told, "noise": rng.integers(0, 5, len(told))})
    frame.loc[7, "event"] = None
    frame.loc[30, "event"] = float("nan")
    model = ProgramRegressor(missing="drop").fit(frame, states)
    assert any("cut at 2 cells" in note for note in model.certificate_.notes)
    answers = model.predict(frame)
    assert answers[7] is None
    assert answers[13:30].tolist() == states[13:30]
    with pytest.raises(BadInput, match="'kick' is none of"):
        model.predict(frame.assign(event="kick"))


def test_missing_numbers_are_carried_forward():
    x = np.random.default_rng(1).integers(0, 9, (60, 8)).astype(float)
    y, gaps = 3 * x, x.copy()
    gaps[:, 4] = np.nan
    y[:, 4] = y[:, 3]
    model = ProgramRegressor(missing="last").fit(gaps, y)
    assert model.equations_ == ("y[t] = 3*x[t]",)
    assert np.array_equal(model.predict(gaps), y)
    assert model.score(gaps, y) == 1.0
    gaps[:, 0] = np.nan
    assert np.isnan(model.predict(gaps)[:, 0]).all()


@pytest.mark.slow
def test_numbers_that_are_categories():
    x = np.random.default_rng(2).choice([7, 12, 300], (200, 6))
    model = ProgramRegressor(categories=("x",)).fit(x, (x == 12).astype(int))
    assert model.program_.categories == {"x": (7, 12, 300)}
    assert model.score(x, (x == 12).astype(int)) == 1.0
    with pytest.raises(BadInput, match="13' is none of 7, 12 or 300"):
        model.predict(np.full((1, 6), 13))


def test_of_many_columns_those_that_tell_something_are_used():
    x = np.random.default_rng(3).integers(0, 9, (800, 40)).astype(float)
    model = ProgramRegressor(axes="steps").fit(x, 2 * x[:, 11] - x[:, 29])
    assert model.equations_ == ("y[t] = 2*x12[t] - x30[t]",)
    assert model.n_features_in_ == 40
    assert np.array_equal(model.predict(x), 2 * x[:, 11] - x[:, 29])
    assert any("38 of 40 columns" in note for note in model.certificate_.notes)


def test_classes_are_counted_right_or_wrong(finds: Callable[..., list[Problem]]):
    parity = rule(None, "load", "even", even=(Var("even", 1) + Var("load") + 1) % 2)
    finds(lambda problem: Program("even", parity, problem.domains, True, output_truths=("even",)))
    frame = machines()
    model = ProgramClassifier().fit(frame[["load"]], frame["even"])
    answers = model.predict(frame[["load"]])
    assert answers.dtype == bool
    assert model.classes_.tolist() == [False, True]
    assert model.score(frame[["load"]], frame["even"]) == np.mean(answers == frame["even"])
    assert 0.4 < model.baseline_ < 0.7


def test_variants_of_a_text_are_one_on_request(finds: Callable[..., list[Problem]]):
    pandas = pytest.importorskip("pandas")
    opened = rule(None, "door", y=Var("door").equals(1))
    asked = finds(lambda problem: Program("p", opened, problem.domains, True))
    frame = pandas.DataFrame({"door": ["Open", "shut", "open", "open"] * 10})
    y = (frame["door"].str.lower() == "open").astype(int)
    ProgramRegressor().fit(frame, y)
    assert "differ in case alone" in asked[0].remarks[0]
    model = ProgramRegressor(ignore_case=["door"]).fit(frame, y)
    assert asked[1].domains[0].categories == ("open", "shut")
    assert model.predict(pandas.DataFrame({"door": ["OPEN", "shut"]})).tolist() == [1, 0]


# -- beside scikit-learn -------------------------------------------------------------------------------------


@pytest.mark.slow
def test_works_in_a_pipeline_with_clone_and_says_what_is_going_on(capsys: pytest.CaptureFixture[str]):
    from sklearn.base import clone
    from sklearn.pipeline import make_pipeline
    from sklearn.preprocessing import FunctionTransformer

    x, y = sums(np.random.default_rng(4))
    pipeline = make_pipeline(FunctionTransformer(lambda values: values * 2), ProgramRegressor())
    copy: Any = clone(pipeline)
    assert copy[-1].get_params() == pipeline[-1].get_params()
    assert copy.fit(x, y)[-1].equations_ == ("y[t] = 0.5*x[t] + y[t-1]",)
    assert copy.score(x, y) == 1.0
    assert capsys.readouterr().err == ""
    ProgramRegressor(verbose=True, rungs=("pairs",), time_limit=2).fit(x, y)
    assert "pairs" in capsys.readouterr().err


def test_the_stand_in_for_scikit_learn_keeps_parameters():
    class Plain(BaseEstimator):
        def __init__(self, depth: int = 1) -> None:
            self.depth = depth

    assert Plain().set_params(depth=3).get_params() == {"depth": 3}
    assert repr(Plain()) == "Plain()"
    with pytest.raises(ValueError, match="no parameter 'wrong'"):
        Plain().set_params(wrong=1)


@pytest.mark.slow
def test_works_without_scikit_learn():
    code = (
        "import sys; sys.modules['sklearn'] = None\n"
        "import numpy as np\n"
        "from weights2code import ProgramRegressor\n"
        "x = np.random.default_rng(0).integers(0, 9, (60, 6)).astype(float)\n"
        "model = ProgramRegressor().set_params(random_state=1).fit(x, 3 * x)\n"
        "print(model.equations_, model.get_params()['random_state'])\n"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout == "('y[t] = 3*x[t]',) 1\n"


def least_squares(problem: Problem) -> Program:
    """Over the columns, whatever they are."""
    x, y = problem.training.x, problem.training.y
    flat = np.column_stack([x.reshape(-1, x.shape[-1]), np.ones(x[..., 0].size)])
    weights = np.linalg.lstsq(flat, y.reshape(len(flat), -1), rcond=None)[0].round(6)
    columns = [Var(name) for name in problem.inputs]
    sums = [
        sum((float(w) * v for w, v in zip(own, columns, strict=False)), Const(own[-1])) for own in weights.T
    ]
    steps = tuple(Step(name, made) for name, made in zip(problem.outputs, sums, strict=True))
    return Program(problem.name, Recurrence(problem.inputs, steps, problem.outputs), problem.domains)


#: Checks of scikit-learn that are not passed, each with its reason.
EXCEPTIONS: dict[str, str] = {}


def test_scikit_learns_checks(finds: Callable[..., list[Problem]]):
    """They are about manners, not about what is found."""
    from sklearn.exceptions import SkipTestWarning
    from sklearn.utils.estimator_checks import check_estimator

    finds(least_squares)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", SkipTestWarning)
        results = check_estimator(
            ProgramRegressor(axes="samples"), expected_failed_checks=EXCEPTIONS, on_fail=None
        )
    failed = {item["check_name"]: str(item["exception"]) for item in results if item["status"] == "failed"}
    assert failed == {}
    assert sum(item["status"] == "passed" for item in results) > 40
