"""Large CSV files by PyArrow: the same as by the standard library, or not at all."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

from weights2code.data import arrow_csv, csv_table, file_source, from_file
from weights2code.data.arrow_csv import read_with_arrow
from weights2code.data.csv_table import read_csv
from weights2code.data.loose_cells import Loosely, Words
from weights2code.errors import InputError
from weights2code.roles import Roles

pytest.importorskip("pyarrow")


@pytest.fixture(autouse=True)
def any_size(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(arrow_csv, "LARGE", 0)


def csv_file(folder: Path, *lines: str) -> Path:
    path = folder / "data.csv"
    path.write_text("\n".join(lines) + "\n", encoding="utf-8")
    return path


def both(path: Path, values: tuple[str, ...], labels: tuple[str, ...] = ()):
    """What each of the readers finds; None is what PyArrow leaves to the other."""
    quick, slow = (Loosely(Roles(values, order=labels[0] if labels else None)) for _ in range(2))
    found = read_with_arrow(path, quick)
    if found is None:
        return None, None
    right = read_csv(path, slow)
    columns = {name: quick.words("here", name, v, str) if isinstance(v, Words) else quick.read(name, v)
               for name, v in found.items() if name in values}  # fmt: skip
    return columns, {name: slow.read(name, right[name]) for name in values}


@pytest.mark.parametrize(
    "cells",
    [
        ["1", "2", "300"], ["0.5", "-7", "1e3"], ["007", ".5", "5."], ["-0", "1E+2", " 3 "], ["+1", "0", "2"],
        ["true", "False", "TRUE"], ["a", " b", "a "], ["1", "", "3"], ["1", "NA", "3"], ["a", "", "b"],
        ["x y", "née", "-"], ["9007199254740991", "1", "2"], ["1e-30", "0", "0.0"],
    ],
)  # fmt: skip
def test_plain_cells_are_read_alike(tmp_path: Path, cells: list[str]):
    path = csv_file(tmp_path, "x,t", *(f"{cell},{i}" for i, cell in enumerate(cells)))
    found, right = both(path, ("x",), ("t",))
    assert found is not None
    assert right is not None
    assert np.array_equal(found["x"].take(slice(None)), right["x"].take(slice(None)), equal_nan=True)
    assert found["x"].texts == right["x"].texts
    assert (found["x"].gaps and found["x"].gaps.count) == (right["x"].gaps and right["x"].gaps.count)


@pytest.mark.parametrize(
    "cell",
    ["1_000", "0x10", "inf", "9007199254740993", "1e-400", '"1"2', "5e", "1,2", "2024-01-05", "seven", "\0"],
)
def test_what_is_not_plain_is_left_to_the_other_reader(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, cell: str
):
    monkeypatch.setattr(csv_table, "BLOCK_CHARACTERS", 20)
    monkeypatch.setattr(arrow_csv, "FIRST_ROWS", 5)
    path = csv_file(tmp_path, '"x",t', *(f"{i},{i}" for i in range(30)), f"{cell},31")
    assert both(path, ("x",), ("t",)) == (None, None)


def test_a_quote_far_down_is_left_to_the_other_reader(tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setattr(arrow_csv, "BLOCK", 1 << 10)
    rows = [f"{i},{i}" for i in range(2000)]
    assert both(csv_file(tmp_path, "x,t", *rows), ("x",), ("t",))[0] is not None
    assert both(csv_file(tmp_path, "x,t", *rows, '"1",2'), ("x",), ("t",))[0] is None
    found, _ = both(csv_file(tmp_path, '"x",t', *rows, '"1",2'), ("x",), ("t",))
    assert found is not None
    assert found["x"].values.dtype == np.int16


def test_ids_are_texts_and_gaps_name_their_line(tmp_path: Path):
    path = csv_file(
        tmp_path, "id,t,x,y", *(f"{'07' if i % 2 else '7'},{i},{i % 5},{i % 3}" for i in range(80))
    )
    problem = from_file(file_source(path, ["x"], ["y"], "id", "t"), 0)
    assert problem.held_out is not None
    assert len(problem.held_out) == 2
    path = csv_file(tmp_path, "t,x,y", *(f"{i},{'' if i == 41 else i % 5},{i % 3}" for i in range(80)))
    with pytest.raises(InputError, match=r"line 43, column 'x' holds a missing value; 1 cell"):
        from_file(file_source(path, ["x"], ["y"], order="t"), 0)


@pytest.mark.parametrize("missing", ["drop", "last"])
def test_problems_are_the_same(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, missing: str):
    rng = np.random.default_rng(0)
    rows = [
        f"m{i % 7},2024-01-{i // 50 + 1:02d} {i % 24:02d}:{i % 60:02d}:{i // 24 % 60:02d},{a},"
        f"{'' if i % 90 == 5 else b},{'pqr'[a % 3]},{a > 4}"
        for i, (a, b) in enumerate(zip(rng.integers(0, 9, 900), rng.normal(size=900).round(3), strict=True))
    ]
    path = csv_file(tmp_path, "id,when,a,b,kind,y", *rows)
    source = file_source(path, ["a", "b", "kind"], ["y"], "id", "when", missing=missing)
    found = []
    for least in (0, 1 << 40):
        monkeypatch.setattr(arrow_csv, "LARGE", least)
        found.append(from_file(source, 3))
    quick, slow = found
    for part in ("training", "validation", "held_out"):
        assert np.array_equal(getattr(quick, part).x, getattr(slow, part).x)
        assert np.array_equal(getattr(quick, part).y, getattr(slow, part).y)
    assert (quick.domains, quick.categories, quick.remarks) == (slow.domains, slow.categories, slow.remarks)
