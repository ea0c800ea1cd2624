"""What contributors are told: the recipes of CONTRIBUTING.md run, what it names is there, versions agree."""

from __future__ import annotations

import re
import subprocess
import tomllib
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from weights2code import __version__, tasks
from weights2code.data import from_task
from weights2code.explain.own_heads import OWN
from weights2code.heads import HEADS
from weights2code.language import OPERATORS
from weights2code.language.formula_reading import read_recurrence
from weights2code.language.latex import latex_lines
from weights2code.program import Program
from weights2code.views.families import Source

ROOT = Path(__file__).parents[2]
PAGE = (ROOT / "CONTRIBUTING.md").read_text(encoding="utf-8")
RECIPES = dict(re.findall(r"^### An? ([^\n]+)\n.*?```python\n(.*?)```", PAGE, re.DOTALL | re.MULTILINE))


@pytest.fixture
def made() -> Iterator[Callable[[str], dict[str, Any]]]:
    """What a recipe defines; what it adds to tables goes when the test ends."""

    def run(name: str) -> dict[str, Any]:
        space: dict[str, Any] = {}
        exec(compile(RECIPES[name], f"CONTRIBUTING.md, {name}", "exec"), space)
        return space

    yield run
    for table, name in ((HEADS, "peak"), (OWN, "peak"), (OPERATORS, "trunc")):
        table.pop(name, None)


def program(formula: str) -> Program:
    return Program("made", read_recurrence(["x"], formula), (tasks.get("abs").domains[0],))


def test_there_is_a_recipe_for_every_table():
    assert list(RECIPES) == ["operator", "feature family", "head", "export"]


def test_a_new_operator_is_read_run_and_written_everywhere(made: Any):
    made("operator")
    rule = program("y[t] = trunc(x[t]/2)")
    assert rule.run([3.0, -3.0, 4.0]).tolist() == [1.0, -1.0, 2.0]
    assert rule.formula() == "y[t] = trunc(x[t]/2)"
    assert "np.trunc" in rule.source()
    assert "trunc" in latex_lines(rule.recurrence)[0]


def test_a_new_family_gives_features_with_their_values(made: Any):
    problem = from_task(tasks.get("abs"), 8, 0)
    (batch,) = made("feature family")["changes"](Source(problem, problem.training))
    x = problem.training.x[..., 0]
    np.testing.assert_array_equal(batch.values()[0][:, 1:], np.diff(x, axis=1))
    assert batch.costs.tolist() == [2.0]


def test_a_new_head_is_registered_and_says_one_thing_in_both_forms(made: Any):
    head = made("head")["Peak"]()  # `register` has compared both forms
    assert "peak" in HEADS
    assert head.exact(np.array([[4.0, 1.0, 0.0, 3.0]])).tolist() == [[4.0, 2.0, 1.0, 3.0]]


def test_a_new_export_writes_the_rule(made: Any):
    text = made("export")["write"](program("s[t] = s[t-1] + x[t]\ny[t] = max(s[t], x[t-1])"))
    assert text.splitlines()[-2:] == ["s := (s1 + x)", "y := larger(s, x1)"]
    assert text.startswith("; s[t] = s[t-1] + x[t]\n")


def test_what_is_named_is_there():
    named = re.findall(r"`((?:src|tests|tools|benchmarks|kernel|views|model|explain|export)/[\w./]*)`", PAGE)
    assert len(named) > 10
    places = [ROOT, ROOT / "src/weights2code"]
    assert not [name for name in named if not any((place / name).exists() for place in places)]
    for link in re.findall(r"\]\((?!https?:)([^)#]+)", PAGE):
        assert (ROOT / link).exists()


def test_versions_agree():
    project = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["project"]
    citation = (ROOT / "CITATION.cff").read_text(encoding="utf-8")
    assert f"\nversion: {__version__}\n" in citation
    assert f"\nlicense: {project['license']}\n" in citation
    said = [c.rpartition(" ")[2] for c in project["classifiers"] if "Python :: 3." in c]
    checked = re.search(r"for version in (.*); do", (ROOT / ".ci/run").read_text(encoding="utf-8"))
    assert checked is not None
    assert checked[1].split() == said == ["3.11", "3.12", "3.13"]
    assert project["requires-python"] == ">=3.11,<3.14"


def test_hooks_run_what_the_checks_run():
    hooks = (ROOT / ".pre-commit-config.yaml").read_text(encoding="utf-8")
    checks = (ROOT / ".ci/run").read_text(encoding="utf-8")
    for command in ("ruff check", "ruff format", "tools/size.py --check"):
        assert command in hooks
        assert command.replace("ruff ", 'ruff" ') in checks.replace('python" ', "python ")
    assert subprocess.run(["bash", "-n", str(ROOT / ".ci/run")], check=False).returncode == 0
