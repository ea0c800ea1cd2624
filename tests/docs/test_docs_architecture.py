"""What `docs/architecture.md` says about the source, checked against the source."""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator
from pathlib import Path

ROOT = Path(__file__).parents[2]
SOURCE = ROOT / "src/weights2code"
PAGE = (ROOT / "docs/architecture.md").read_text(encoding="utf-8")

#: The package itself, whose names are imported when they are asked for, and its command.
FRONT_DOORS = {"__init__", "__main__"}


def section(title: str) -> str:
    return PAGE.split(f"## {title}\n")[1].split("\n## ")[0]


def imports(tree: ast.AST) -> Iterator[str]:
    """Modules of the package that a module imports, anywhere, except for their types."""
    for node in ast.iter_child_nodes(tree):
        if isinstance(node, ast.If) and "TYPE_CHECKING" in ast.dump(node.test):
            continue
        if isinstance(node, ast.ImportFrom) and node.module == "weights2code":
            yield from (alias.name for alias in node.names)
        elif isinstance(node, ast.ImportFrom):
            yield (node.module or "").removeprefix("weights2code.")
        elif isinstance(node, ast.Import):
            yield from (alias.name.removeprefix("weights2code.") for alias in node.names)
        yield from imports(node)


def test_imports_go_one_way():
    lines = section("What may import what").split("```")[1].split("\n")
    height = {name: level for level, line in enumerate(lines) for name in line.split()}
    folders = {
        path.stem for path in SOURCE.iterdir() if path.suffix == ".py" or (path / "__init__.py").exists()
    }
    assert set(height) == folders - FRONT_DOORS
    wrong = set()
    for path in SOURCE.rglob("*.py"):
        own = path.relative_to(SOURCE).parts[0].removesuffix(".py")
        for module in imports(ast.parse(path.read_text(encoding="utf-8"))):
            other = module.split(".")[0]
            if own != other and {own, other} <= set(height) and height[other] >= height[own]:
                wrong.add((own, other))
    assert wrong == set()


def test_axes_have_one_vocabulary():
    known = set(re.findall(r"`(\w+)`", section("Array shapes")))
    used = set()
    for path in SOURCE.rglob("*.py"):
        text = path.read_text(encoding="utf-8")
        for shape in re.findall(r'(?:Float|Int|Bool)\[(?:Tensor|np\.ndarray), "([^"]*)"\]', text):
            used |= set(re.findall(r"[a-z_]+", re.sub(r"-\{\w+\}", "", shape)))
    assert used == known
