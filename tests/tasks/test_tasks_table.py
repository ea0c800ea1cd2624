"""The table of tasks, on a terminal and in a file."""

import io

from rich.console import Console

from weights2code import tasks


def test_rows_say_what_a_task_is():
    (row,) = tasks.rows([tasks.get("bit_addition")])
    assert row.name == "bit_addition"
    assert row.alias == "Binary_Addition"
    assert row.inputs == "a, b: bits"
    assert (row.length, row.category, row.window_class) == (10, "Non-Linear Composition", "b")
    assert row.suites == "paper, mips"


def test_columns_of_different_domains_are_told_apart():
    (row,) = tasks.rows([tasks.get("retrieve_value_by_key")])
    assert row.inputs == "key: 0..7; value: 0..99; query: 0..7"


def test_plain_text_is_aligned():
    lines = tasks.plain_text(tasks.all_tasks()).splitlines()
    assert len(lines) == 91
    assert lines[0].startswith("name ")
    at = lines[0].index("category")
    assert {line[at:].split("  ")[0] for line in lines[1:]} == {
        "Linear Arithmetic",
        "Non-Linear Composition",
        "Continuous Dynamics",
        "Formal Languages",
    }


def test_a_file_gets_plain_text():
    out = io.StringIO()
    tasks.render(tasks.all_tasks("paper"), Console(file=out, width=40))
    assert out.getvalue() == tasks.plain_text(tasks.all_tasks("paper"))


def test_a_terminal_gets_every_name_whole():
    out = io.StringIO()
    tasks.render(tasks.all_tasks(), Console(file=out, force_terminal=True, width=80))
    for task in tasks.all_tasks():
        assert task.name in out.getvalue()
    assert "Newton_Freebody" in out.getvalue()
