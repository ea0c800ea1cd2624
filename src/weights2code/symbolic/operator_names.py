"""Names of operators that users may choose from: the language's own, and those that PySR users know."""

from __future__ import annotations

import difflib
from collections.abc import Iterable

from weights2code.errors import InputError
from weights2code.language import OPERATORS

#: What PySR, Operon and Python call operators of the language.
_CALLED = {
    "add": "+ plus",
    "sub": "-",
    "mul": "* mult square cube",
    "div": "/ inv",
    "pow": "^ **",
    "mod": "% Mod",
    "gt": "greater",
    "lt": "less",
    "ge": "greater_equal",
    "le": "less_equal",
    "eq": "equal",
    "ne": "not_equal",
    "where": "cond",
    "clip": "clamp",
    "and": "logical_and",
    "or": "logical_or",
    "not": "logical_not",
    "abs": "Abs fabs",
    "max": "maximum Max fmax",
    "min": "minimum Min fmin",
}
ALIASES: dict[str, tuple[str, ...]] = {"//": ("floor", "div")}
ALIASES |= {word: (name,) for name, words in _CALLED.items() for word in words.split()}


def operator_set(names: Iterable[str] | None) -> frozenset[str] | None:
    """The operators of the language meant by `names`; None stays None (everything that suits the domain).

    Raises
    ------
    InputError
        If a name is unknown; the message offers the nearest known one.
    """
    if names is None:
        return None
    if isinstance(names, str):
        raise InputError(f"operators must be a list of names, not the text {names!r}")
    chosen: set[str] = set()
    for name in names:
        if name in OPERATORS:
            chosen.add(name)
        elif name in ALIASES:
            chosen.update(ALIASES[name])
        else:
            known = sorted({*OPERATORS, *ALIASES})
            near = difflib.get_close_matches(str(name), known, 1)
            hint = f"did you mean {near[0]!r}?" if near else f"known are {', '.join(known)}."
            raise InputError(f"there is no operator {name!r}; {hint}")
    # A test and its mirror image are one choice: [a > b] is [b < a], and [a != b] is not [a == b].
    for entry in [OPERATORS[name] for name in chosen]:
        if entry.compares:
            chosen.add(str(entry.opposite if entry.commutative else entry.mirror))
    return frozenset(chosen)
