"""How a task is declared: names, one line of text, columns, formulas. The rest follows from the suite."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from weights2code.language import Definition, Domain
from weights2code.tasks.paper import NON_LINEAR, PAPER
from weights2code.tasks.task import Category, Suite, Task

#: A formula as a program prints it, or as an expression.
Formula = str | Definition


def declare(
    names: str,
    description: str,
    inputs: Domain | Mapping[str, Domain],
    steps: Formula | Mapping[str, Formula],
    category: Category = NON_LINEAR,
    *,
    suite: Suite | None = None,
    outputs: tuple[str, ...] = ("y",),
    **facts: Any,
) -> Task:
    """Build a `Task`; `facts` are what else it takes.

    Of its names the first is its own; MIPS has capitals in its names, and the paper's are known, with their
    category; `suite` is any other that it belongs to. A domain alone is that of `x`, a formula alone that
    of `y`.
    """
    name, *aliases = names.split()
    reported = PAPER.get(name)
    belongs = {"paper": reported, "mips": names != names.lower(), suite: suite}
    return Task(
        inputs if isinstance(inputs, Mapping) else {"x": inputs},
        reference=steps if isinstance(steps, Mapping) else {"y": steps},
        name=name,
        aliases=tuple(aliases),
        description=description,
        category=reported[0] if reported else category,
        suites=tuple(suite for suite, has in belongs.items() if suite and has),
        paper=reported[1] if reported else None,
        outputs=outputs,
        **facts,
    )


def at(name: str, lag: int) -> str:
    """`x[t-1]`: a value so many positions back."""
    return f"{name}[t-{lag}]" if lag else f"{name}[t]"
