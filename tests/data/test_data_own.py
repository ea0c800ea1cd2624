"""Own data as a problem: windows, parts, domains, and files that are bound to a run."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from weights2code.data import FileSource, Sequences, file_source, from_file, from_lists
from weights2code.data.columns import Stored, of_numbers
from weights2code.data.parts import BEGINNING, CONTEXT, LONGEST, Piece, cut, divide
from weights2code.data.taking import take
from weights2code.errors import InputError


@given(st.integers(1, 400), st.integers(0, 30))
def test_windows_score_every_position_once(length: int, context: int):
    context = min(context, length - 1)
    piece = Piece(0, 100, 100 + length, context)
    scored = [t for w in cut(piece) for t in range(w.first + w.context, w.last)]
    assert scored == list(range(100 + context, 100 + length))
    for window in cut(piece):
        assert window.last - window.first <= LONGEST
        assert window.context == min(CONTEXT, window.first + window.context - 100) or window == piece


def numbered(lengths: list[int]) -> tuple[list[np.ndarray], list[np.ndarray]]:
    """Inputs that say which sequence and which position they are."""
    x = [np.column_stack([np.full(n, i), np.arange(n)]).astype(float) for i, n in enumerate(lengths)]
    return x, [item[:, 1:] % 7 for item in x]


@dataclass(frozen=True)
class Divided:
    training: Sequences
    validation: Sequences
    held_out: Sequences
    beginnings: Sequences | None


def divided(lengths: list[int]) -> Divided:
    x, y = (np.concatenate(table) for table in numbered(lengths))
    columns = {"sequence": x[:, 0], "position": x[:, 1], "y": y[:, 0]}
    stored = Stored(lambda name: of_numbers(columns[name]), np.array(lengths))
    taken = take(stored, tuple(columns), divide(stored.lengths, seed=0))
    return Divided(*taken.sequences(("sequence", "position"), ("y",)))


def positions(part) -> set[tuple[float, float]]:
    return {tuple(row) for row in part.x[part.scored].tolist()}


@pytest.mark.parametrize("lengths", [[1500], [40, 900], [12] * 60, [8, 9, 10, 11, 12, 13] * 10 + [200]])
def test_nothing_that_was_learned_from_is_held_out(lengths: list[int]):
    parts = divided(lengths)
    kept, learned = positions(parts.held_out), positions(parts.training) | positions(parts.validation)
    assert kept
    assert not kept & learned
    assert len(kept | learned) == sum(lengths)
    again = divided(lengths)
    assert np.array_equal(again.training.x, parts.training.x)


def test_the_longest_sequences_are_kept_for_the_certificate():
    parts = divided([10] * 30 + [100])
    assert parts.held_out.lengths.max() == 100
    assert parts.training.lengths.max() == 10


def test_one_long_sequence_has_one_true_start():
    parts = divided([1000])
    assert (parts.training.given == 0).sum() == 1
    assert (parts.validation.given == 0).sum() == 1
    assert parts.held_out.given.tolist() == [800]  # run from the true start, the past given
    assert parts.held_out.lengths.tolist() == [1000]


def test_the_end_of_a_very_long_sequence_has_a_short_past():
    parts = divided([20_000])
    assert set(parts.held_out.given.tolist()) == {CONTEXT}


def test_cut_sequences_are_kept_from_their_start_too():
    parts = divided([1000, 40])
    assert parts.beginnings is not None
    assert (parts.beginnings.given == 0).all()
    assert parts.beginnings.lengths.tolist() == [BEGINNING, 32]
    assert not positions(parts.beginnings) & positions(parts.held_out)
    assert divided([12] * 60).beginnings is None


def test_a_large_file_is_thinned():
    parts = divided([400_000])
    assert len(parts.training) == 8192
    assert parts.held_out.lengths.sum() < 50_000


def test_domains_are_what_the_values_show():
    rng = np.random.default_rng(0)
    x = [np.column_stack([rng.integers(0, 2, 30), rng.integers(-3, 4, 30), rng.random(30)]) for _ in range(9)]
    y = [item[:, 1:2] for item in x]
    problem = from_lists(x, y, ("a", "b", "c"), ("y",), seed=0)
    assert [domain.kind for domain in problem.domains] == ["bits", "integers", "reals"]
    assert (problem.domains[1].low, problem.domains[1].high) == (-3, 3)
    assert problem.integer_outputs
    assert problem.reference is None


def test_constant_targets_and_too_few_rows_are_refused():
    x, y = numbered([30])
    with pytest.raises(InputError, match="'y' is 3 everywhere"):
        from_lists(x, [np.full((30, 1), 3.0)], ("a", "b"), ("y",), seed=0)
    for scale, word in ((1e300, "large"), (1e-300, "small")):
        with pytest.raises(InputError, match=f"'y', up to .* are too {word} to compute with"):
            from_lists([np.arange(40.0)[:, None]], [scale * np.arange(40.0)[:, None]], ("x",), ("y",), 0)
    with pytest.raises(InputError, match=r"5 rows .* too few"):
        from_lists([x[0][:5]], [y[0][:5]], ("a", "b"), ("y",), seed=0)


@pytest.fixture
def log(tmp_path: Path) -> Path:
    path = tmp_path / "log.csv"
    rows = [f"m{i % 6},{10 - t},{i},{i * 10 + t}" for t in range(10) for i in range(6)]
    path.write_text("\n".join(["machine,hour,x,y", *rows]))
    return path


def test_rows_become_ordered_sequences(log: Path):
    problem = from_file(file_source(log, ["x"], ["y"], "machine", "hour"), seed=0)
    assert problem.name == "log"
    whole = np.concatenate([problem.training.y, problem.validation.y, problem.held_out.y])  # type: ignore[union-attr]
    assert whole.shape == (6, 10, 1)
    assert (np.diff(whole[..., 0], axis=1) == -1).all()


def test_times_order_as_times(tmp_path: Path):
    path = tmp_path / "log.csv"
    rows = [f"2024-01-{31 - i:02d},{i % 5},{i}" for i in range(30)]
    path.write_text("\n".join(["day,x,y", *rows]))
    problem = from_file(file_source(path, ["x"], ["y"], None, "day"), seed=0)
    start = problem.validation.take(np.flatnonzero(problem.validation.given == 0))
    assert start.y[0, :3, 0].tolist() == [29, 28, 27]


@pytest.mark.parametrize(
    ("cells", "part"),
    [
        (("1", "nan"), "'nan', which is no number"),
        (("1", "1_0"), "'1_0', which is no number"),
        (("1", "now"), "'now', which is no number"),
        (("2024-01-01", "NaT"), "'NaT', which is no number"),
        (("2024-01-01", "2024-02-31"), "cannot be sorted by"),
        (("2024-01-01", "7"), "mixes numbers, times"),
        (("2024-01-01 12:00", "2024-01-01 12:00Z"), "mixes numbers, times and times of a zone"),
        (("1e400", "2"), "cannot be sorted by"),
    ],
)
def test_times_that_say_nothing_are_refused(tmp_path: Path, cells: tuple[str, str], part: str):
    path = tmp_path / "log.csv"
    rows = [f"{cells[i % 2]},{i % 5},{i}" for i in range(30)]
    path.write_text("\n".join(["day,x,y", *rows]))
    with pytest.raises(InputError, match=part):
        from_file(file_source(path, ["x"], ["y"], None, "day"), seed=0)


@pytest.mark.parametrize(
    ("arguments", "part"),
    [
        ((["x"], ["y"], None, "hour"), "stands twice"),
        ((["x", "x"], ["y"]), "names 'x' twice"),
        ((["x", "y"], ["y"]), "an input and a target"),
        (([""], ["y"]), "names no column"),
        ((["x"], ["y"], "x"), "one role"),
        ((["hours"], ["y"]), "did you mean 'hour'"),
        ((["x"], ["y"], "machin"), "did you mean 'machine'"),
        ((["x"], ["y"], "hour", "machine"), "no number and no time"),
    ],
)
def test_columns_that_make_no_sense_are_refused(log: Path, arguments: tuple, part: str):
    with pytest.raises(InputError, match=part):
        from_file(file_source(log, *arguments), seed=0)


def test_a_file_is_bound_by_its_content(log: Path):
    source = file_source(log, ["x"], ["y"], "machine", "hour")
    assert FileSource.from_dict(source.to_dict()) == source
    log.write_text(log.read_text() + "\nm1,99,1,5")
    with pytest.raises(InputError, match="has changed since the run began"):
        from_file(source, seed=0)


def test_texts_that_are_all_different_are_no_input(tmp_path: Path):
    rows = [f"order-{i},{'ab'[i % 2]},{i % 2}" for i in range(60)]
    path = tmp_path / "rows.csv"
    path.write_text("\n".join(["id,kind,y", *rows]) + "\n")
    problem = from_file(file_source(path, None, ["y"]), 0)
    assert problem.inputs == ("kind",)
    assert any("id has another text in every row" in remark for remark in problem.remarks)
    with pytest.raises(InputError, match="another text in every row"):
        from_file(file_source(path, ["id"], ["y"]), 0)


def test_texts_that_hardly_come_again_are_no_target(tmp_path: Path):
    path = tmp_path / "rows.csv"
    path.write_text("x,y\n" + "".join(f"{i % 5},np.float64({i * i})\n" for i in range(60)))
    with pytest.raises(InputError, match=r"'y' holds 60 texts in 60 rows, such as \"np.float64\(0\)\""):
        from_file(file_source(path, ["x"], ["y"]), 0)
