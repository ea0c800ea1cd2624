"""Tables as people have them: what is drawn and left empty, how it is judged, and what stands beside it."""

from __future__ import annotations

import fields
import pytest
from table import Row, Table, one_of, value_of, whole, with_holes

COLUMNS = {"kind": one_of("in", "out"), "units": whole(0, 3)}


def doubled(state: None, row: Row) -> tuple[None, tuple[int]]:
    return state, (2 * row["units"],)


def table(**other) -> Table:
    described = {"columns": COLUMNS, "start": None, "step": doubled, "targets": ("y",), "sequences": 40}
    return Table("drawn", "none", "develop", **(described | other))


def test_there_are_thirty_and_a_third_of_them_is_kept():
    kept = sum(one.part == "kept" for one in fields.TABLES)
    assert len(fields.TABLES) >= 30
    assert len(fields.TABLES) / 4 <= kept <= len(fields.TABLES) / 2
    assert len({one.name for one in fields.TABLES}) == len(fields.TABLES)


def test_cells_are_left_empty_after_the_rule_has_read_them():
    with_gaps = table(holes=0.3)
    rows = with_gaps.rows(0, 40, 12)
    found = with_holes(with_gaps, rows)
    assert any(row["units"] is None for row in found)
    assert [row["y"] for row in found] == [row["y"] for row in rows]


@pytest.mark.parametrize(
    ("answer", "example", "value"),
    [("open", "closed", "open"), ("2", "1", "2"), ("2.0", 1, 2.0), ("true", False, 1.0), ("0", True, 0.0)],
)
def test_a_cell_says_a_value_of_the_kind_of_its_column(answer: str, example, value):
    assert value_of(answer, example) == value


def test_a_cell_that_says_no_number_is_refused():
    with pytest.raises(ValueError, match="could not convert"):
        value_of("", 1)


def test_answers_are_judged_by_the_rule():
    one = table(columns={"kind": one_of("in", "out")}, step=lambda s, row: (s, (row["kind"] * 2,)))
    assert one.judge(lambda x: x * 2)
    assert not one.judge(lambda x: x)
