"""How a task is declared: names, one line of text, columns, formulas. The rest follows from the suite."""

from __future__ import annotations

from collections.abc import Mapping

from weights2code.language import Definition, Domain, Start
from weights2code.tasks.paper import NON_LINEAR, PAPER
from weights2code.tasks.task import Category, Sampler, Suite, Task, WindowClass

#: A formula as a program prints it, or as an expression.
Formula = str | Definition


def declare(
    description: str,
    inputs: Domain | Mapping[str, Domain],
    steps: Formula | Mapping[str, Formula],
    *,
    window_class: WindowClass | None = None,
    name: str | None = None,
    mips: str | None = None,
    appendix: bool = False,
    language: str | None = None,
    category: Category = NON_LINEAR,
    outputs: tuple[str, ...] = ("y",),
    start: Mapping[str, Start] | None = None,
    length: int = 10,
    tagged: bool | None = None,
    sampler: Sampler | None = None,
    exact_length: int | None = None,
) -> Task:
    """Build a `Task`.

    `name` is the paper's name, `mips` the MIPS name and `language` that of the suite of formal languages; a
    task has at least one of them, and they come in this order. A domain alone is that of `x`, a formula
    alone that of `y`. Tasks of the paper take their category from it. Values before the start are 0 unless
    `start` says otherwise. The window is one of inputs if no step reads an earlier one, else one of inputs
    and outputs, unless `window_class` says otherwise. Tasks whose output is a function of a window of inputs
    are tagged unless `tagged` says otherwise.
    """
    names = tuple(dict.fromkeys(found for found in (name, mips, language) if found))
    if not names:
        raise ValueError("a task needs a name")
    canonical, *aliases = names
    reported = PAPER.get(canonical)
    belongs: dict[Suite, object] = {
        "paper": reported, "mips": mips, "appendix": appendix, "languages": language
    }  # fmt: skip
    return Task(
        inputs if isinstance(inputs, Mapping) else {"x": inputs},
        reference=steps if isinstance(steps, Mapping) else {"y": steps},
        outputs=outputs,
        start=start,
        name=canonical,
        aliases=tuple(aliases),
        description=description,
        category=reported[0] if reported else category,
        window_class=window_class,
        suites=tuple(suite for suite, has in belongs.items() if has),
        state_tracking=None if tagged is None else not tagged,
        length=length,
        sampler=sampler,
        paper=reported[1] if reported else None,
        exact_length=exact_length,
    )


def at(name: str, lag: int) -> str:
    """`x[t-1]`: a value so many positions back."""
    return f"{name}[t-{lag}]" if lag else f"{name}[t]"
