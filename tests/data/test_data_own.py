"""Own data as a problem: windows, parts, domains, seasons, which columns matter, and files bound to a run."""

from __future__ import annotations

from pathlib import Path
from types import SimpleNamespace

import numpy as np
import pytest

from weights2code.data import FileSource, Problem, Sequences, file_source, from_file, from_lists
from weights2code.data.columns import Stored, of_numbers
from weights2code.data.parts import BEGINNING, CONTEXT, divide
from weights2code.data.relevance import MANY, MOST_KEPT, narrowed, relevant
from weights2code.data.seasons import checked_season, season_in
from weights2code.data.taking import take
from weights2code.errors import InputError


def numbered(lengths: list[int]) -> tuple[list[np.ndarray], list[np.ndarray]]:
    """Inputs that say which sequence and which position they are."""
    x = [np.column_stack([np.full(n, i), np.arange(n)]).astype(float) for i, n in enumerate(lengths)]
    return x, [item[:, 1:] % 7 for item in x]


def divided(lengths: list[int]) -> SimpleNamespace:
    x, y = (np.concatenate(table) for table in numbered(lengths))
    columns = {"sequence": x[:, 0], "position": x[:, 1], "y": y[:, 0]}
    stored = Stored(lambda name: of_numbers(columns[name]), np.array(lengths))
    taken = take(stored, tuple(columns), divide(stored.lengths, seed=0).named())
    return SimpleNamespace(**taken.sequences(("sequence", "position"), ("y",)))


def positions(part: Sequences) -> set[tuple[float, ...]]:
    return {tuple(row) for row in part.x[part.scored].tolist()}


@pytest.mark.parametrize("lengths", [[1500], [40, 900], [12] * 60, [8, 9, 10, 11, 12, 13] * 10 + [200]])
def test_nothing_that_was_learned_from_is_held_out(lengths: list[int]):
    parts = divided(lengths)
    kept, learned = positions(parts.held_out), positions(parts.training) | positions(parts.validation)
    assert kept
    assert not kept & learned
    assert len(kept | learned) == sum(lengths)
    assert np.array_equal(divided(lengths).training.x, parts.training.x)


def test_what_is_kept_of_long_sequences():
    parts = divided([10] * 30 + [100])
    assert (parts.held_out.lengths.max(), parts.training.lengths.max()) == (100, 10)
    parts = divided([1000])  # which has one true start
    assert (parts.training.given == 0).sum() == (parts.validation.given == 0).sum() == 1
    assert parts.held_out.given.tolist() == [800]  # run from the true start, the past given
    assert parts.held_out.lengths.tolist() == [1000]
    assert set(divided([20_000]).held_out.given.tolist()) == {CONTEXT}
    parts = divided([1000, 40])
    assert parts.beginnings is not None
    assert (parts.beginnings.given == 0).all()
    assert parts.beginnings.lengths.tolist() == [BEGINNING, 32]
    assert not positions(parts.beginnings) & positions(parts.held_out)
    assert divided([12] * 60).beginnings is None
    parts = divided([400_000])  # which is thinned
    assert len(parts.training) == 8192
    assert parts.held_out.lengths.sum() < 50_000


def test_domains_are_what_the_values_show():
    rng = np.random.default_rng(0)
    x = [np.column_stack([rng.integers(0, 2, 30), rng.integers(-3, 4, 30), rng.random(30)]) for _ in range(9)]
    problem = from_lists(x, [item[:, 1:2] for item in x], ("a", "b", "c"), ("y",), seed=0)
    assert [domain.kind for domain in problem.domains] == ["bits", "integers", "reals"]
    assert (problem.domains[1].low, problem.domains[1].high) == (-3, 3)
    assert problem.integer_outputs
    assert problem.reference is None


@pytest.mark.parametrize(
    ("y", "words"),
    [
        (np.full(40, 3.0), "'y' is 3 everywhere"), (np.arange(5.0), r"5 rows .* too few"),
        (1e300 * np.arange(40.0), "'y', up to .* are too large to compute with"),
        (1e-300 * np.arange(40.0), "'y', up to .* are too small to compute with"),
    ],
)  # fmt: skip
def test_targets_that_show_nothing_are_refused(y: np.ndarray, words: str):
    with pytest.raises(InputError, match=words):
        from_lists([np.arange(float(len(y)))[:, None]], [y[:, None]], ("x",), ("y",), seed=0)


# -- files ---------------------------------------------------------------------------------------------------


@pytest.fixture
def log(tmp_path: Path) -> Path:
    rows = [f"m{i % 6},{10 - t},{i},{i * 10 + t}" for t in range(10) for i in range(6)]
    (tmp_path / "log.csv").write_text("\n".join(["machine,hour,x,y", *rows]))
    return tmp_path / "log.csv"


def test_rows_become_ordered_sequences_of_a_file_that_may_not_change(log: Path):
    source = file_source(log, ["x"], ["y"], "machine", "hour")
    problem = from_file(source, seed=0)
    assert problem.name == "log"
    whole = np.concatenate([problem.training.y, problem.validation.y, problem.held_out.y])  # type: ignore[union-attr]
    assert whole.shape == (6, 10, 1)
    assert (np.diff(whole[..., 0], axis=1) == -1).all()
    assert FileSource.from_dict(source.to_dict()) == source
    log.write_text(log.read_text() + "\nm1,99,1,5")
    with pytest.raises(InputError, match="has changed since the run began"):
        from_file(source, seed=0)


@pytest.mark.parametrize("form", ["2024-01-{:02d}", "{}.01.2024"])
def test_times_order_as_times(tmp_path: Path, form: str):
    path = tmp_path / "log.csv"
    path.write_text("day,x,y\n" + "".join(f"{form.format(31 - i)},{i % 5},{i}\n" for i in range(30)))
    problem = from_file(file_source(path, ["x"], ["y"], None, "day"), seed=0)
    start = problem.validation.take(np.flatnonzero(problem.validation.given == 0))
    assert start.y[0, :3, 0].tolist() == [29, 28, 27]


@pytest.mark.parametrize(
    ("cells", "part"),
    [
        (("1", "nan"), "'nan', which is no number"), (("1", "1_0"), "'1_0', which is no number"),
        (("1", "now"), "'now', which is no number"), (("2024-01-01", "NaT"), "'NaT', which is no number"),
        (("2024-01-01", "2024-02-31"), "cannot be sorted by"), (("1e400", "2"), "cannot be sorted by"),
        (("2024-01-01", "7"), "mixes numbers, times"),
        (("2024-01-01 12:00", "2024-01-01 12:00Z"), "mixes numbers, times and times of a zone"),
    ],
)  # fmt: skip
def test_times_that_say_nothing_are_refused(tmp_path: Path, cells: tuple[str, str], part: str):
    path = tmp_path / "log.csv"
    path.write_text("day,x,y\n" + "".join(f"{cells[i % 2]},{i % 5},{i}\n" for i in range(30)))
    with pytest.raises(InputError, match=part):
        from_file(file_source(path, ["x"], ["y"], None, "day"), seed=0)


@pytest.mark.parametrize(
    ("arguments", "part"),
    [
        ((["x"], ["y"], None, "hour"), "stands twice"), ((["x", "x"], ["y"]), "names 'x' twice"),
        ((["x", "y"], ["y"]), "an input and a target"), (([""], ["y"]), "names no column"),
        ((["x"], ["y"], "x"), "one role"), ((["hours"], ["y"]), "did you mean 'hour'"),
        ((["x"], ["y"], "machin"), "did you mean 'machine'"),
        ((["x"], ["y"], "hour", "machine"), "no number and no time"),
    ],
)  # fmt: skip
def test_columns_that_make_no_sense_are_refused(log: Path, arguments: tuple, part: str):
    with pytest.raises(InputError, match=part):
        from_file(file_source(log, *arguments), seed=0)


# -- columns that matter, and keys that tell sequences apart -------------------------------------------------


def problem_of(rule, high: int = 10, categories: tuple[int, ...] = (), rows: int = 4000) -> Problem:
    """Of a hundred columns."""
    rng = np.random.default_rng(0)
    x = rng.integers(0, high, (rows, 100)).astype(float)
    for column in categories:
        x[:, column] = rng.integers(1, 4, len(x))
    y = np.asarray(rule(x), float)[:, None]
    given: np.ndarray = x.astype(object) if categories else x
    for column in categories:
        given[:, column] = np.array(["p", "q", "r"], object)[x[:, column].astype(int) - 1]
    return from_lists([given], [y], tuple(f"c{i}" for i in range(100)), ("y",), 0)


def last(column: np.ndarray) -> np.ndarray:
    return np.concatenate([[0], column[:-1]])


@pytest.mark.parametrize(
    ("rule", "found", "options"),
    [
        (lambda x: 3 * x[:, 1] - 2 * x[:, 40] + x[:, 77], {1, 40, 77}, {}),
        (lambda x: np.cumsum(x[:, 3] - x[:, 50]), {3, 50}, {}),
        (lambda x: np.maximum(x[:, 10], last(x[:, 20])) + x[:, 30], {10, 20, 30}, {}),
        (lambda x: x[:, 5] > x[:, 6], {5, 6}, {}),
        (lambda x: x[:, 3] != x[:, 50], {3, 50}, {"high": 2}),  # of which none tells anything alone
        pytest.param(
            lambda x: np.where(x[:, 9] == 2, x[:, 20], x[:, 60]),
            {9, 20, 60}, {"categories": (9,), "rows": 1500},
            marks=pytest.mark.slow,
        ),
    ],
)  # fmt: skip
def test_columns_that_matter_are_found(rule, found: set[int], options: dict):
    kept = relevant(problem_of(rule, **options))
    assert found <= set(kept)
    assert len(kept) <= MOST_KEPT


def test_a_few_columns_stay_as_they_are():
    x = np.random.default_rng(0).integers(0, 5, (400, MANY)).astype(float)
    problem = from_lists([x], [x[:, :1]], tuple(f"c{i}" for i in range(MANY)), ("y",), 0)
    assert narrowed(problem) is problem


def test_what_is_left_out_is_said_and_its_gaps_do_not_cut(tmp_path: Path):
    rng = np.random.default_rng(0)
    x = rng.integers(0, 10, (800, MANY + 20)).astype(object)
    y = (x[:, 3] > x[:, 7]).astype(int)
    x[rng.random(x.shape) < 0.05] = ""
    lines = [",".join(map(str, (*row, answer))) for row, answer in zip(x, y, strict=True)]
    names = [f"c{i}" for i in range(x.shape[1])]
    (tmp_path / "rows.csv").write_text("\n".join([",".join([*names, "y"]), *lines]) + "\n")
    problem = from_file(file_source(tmp_path / "rows.csv", None, ["y"], missing="drop"), 0)
    assert problem.inputs == ("c3", "c7")
    assert problem.held_out is not None
    assert problem.training.x.shape[2] == problem.held_out.x.shape[2] == 2
    cut_at = int((x[:, [3, 7]] == "").sum())
    assert any(f"cut at {cut_at} cells" in remark for remark in problem.remarks)
    left = f"{MANY + 18} of {MANY + 20} columns are not inputs of the program: beside c3, c7"
    assert any(remark.startswith(left) for remark in problem.remarks)


# -- seasons -------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("season", [13, 24, 52, 168, 366])
@pytest.mark.parametrize("noise", [0.0, 1.0])
def test_a_season_is_found(season: int, noise: float):
    rng, rows = np.random.default_rng(0), 6 * season + 200
    x, y = rng.integers(0, 9, rows).astype(float), np.zeros(rows)
    for t in range(rows):
        y[t] = x[t] + 0.5 * (y[t - season] if t >= season else rng.integers(0, 9))
    assert season_in([x[:, None]], [(y + noise * rng.normal(size=rows))[:, None]]) == season
    of_input = np.maximum(x, np.roll(x, season))
    assert noise or season_in([x[:, None]], [of_input[:, None]]) == season


@pytest.mark.parametrize("seed", range(5))
def test_none_is_found_where_there_is_none(seed: int):
    rng = np.random.default_rng(seed)
    x = rng.integers(0, 9, (1500, 3)).astype(float)
    for y in (rng.normal(size=(1500, 1)), (x[:, :1] > 4) * x[:, 1:2], np.cumsum(x[:, :1], 0)):
        assert season_in([x], [y]) is None
    assert season_in([x[:30]], [x[:30, :1]]) is None
    assert from_lists([x[:, :1]], [x[:, :1] % 3], ("x",), ("y",), 0).seasonal is None


def test_a_season_that_was_declared_must_be_there():
    assert checked_season(24, 100) == 24
    for season, words in ((168, "at least 504 rows, and the longest has 300"), (1, "from 2 to 400")):
        with pytest.raises(InputError, match=words):
            checked_season(season, 300)


@pytest.mark.parametrize("count", [1, 3, 8])
def test_windows_see_a_season_and_none_of_what_is_kept_back(count: int):
    """Each row has a number of its own, so that rows can be told apart."""
    xs = [np.arange(1000.0 * i, 1000.0 * i + 400)[:, None] for i in range(count)]
    problem = from_lists(xs, [x % 7 for x in xs], ("x",), ("y",), 0, season=24)
    seasonal = problem.seasonal
    assert seasonal is not None
    assert seasonal.season == 24
    assert seasonal.held_out is not None
    parts = {"training": seasonal.training, "validation": seasonal.validation, "held": seasonal.held_out}
    scored = {name: part.x[..., 0][part.scored].tolist() for name, part in parts.items()}
    assert all(len(rows) == len(set(rows)) for rows in scored.values())
    assert not set(scored["training"]) & set(scored["validation"])
    kept = set(scored["held"])
    assert kept
    for part in (seasonal.training, seasonal.validation):
        assert not kept & set(part.x[..., 0][part.valid].tolist())
        assert (part.given >= 24 + 2).all()
    assert problem.held_out is not None
    assert (seasonal.held_out.given >= 24).all()
    assert kept <= set(problem.held_out.x[..., 0][problem.held_out.scored].tolist())
