"""Formal languages and what else automata extraction is measured on: memory that outputs do not show.

The answer at each position is about the prefix up to it: 1 if it is a word of the language, 0 if not. The
machines count, stack and flip inside, and only a bit of that is seen. Tomita's seven grammars (1982) are as
Weiss, Goldberg and Yahav (2018) state them; bounded stacks, counters, flip-flops and word problems of groups
come from the literature on what networks recognise, induction and histogram from that on transformers.
"""

from __future__ import annotations

from collections.abc import Mapping
from functools import partial, reduce
from typing import Any

import numpy as np

from weights2code.language import BITS, Domain, Retrieval, Start, Var, integers
from weights2code.language.formula_reading import read_recurrence
from weights2code.tasks.built_in import BALANCED
from weights2code.tasks.declare import Formula, declare
from weights2code.tasks.task import Category, Task
from weights2code.tasks.words import LanguageWords

LANGUAGES: Category = "Formal Languages"
#: Sequences from which finite machines are learned, and those where something grows with the length.
SHORT, LONG = 12, 20
#: Counters steer the sampler up to here; they count on for the task.
FAR = 12

_task = partial(declare, category=LANGUAGES, suite="languages", window_class="c", length=SHORT)


def _language(
    name: str,
    description: str,
    domain: Domain,
    steps: Mapping[str, Formula],
    start: Mapping[str, Start] | None = None,
    *,
    steered_by: Mapping[str, Formula] | None = None,
    **facts: Any,
) -> Task:
    """A language over one column, with words of it among the samples."""
    words = LanguageWords(read_recurrence(("x",), steered_by or steps, ("y",), start), domain)
    return _task(name, description, domain, steps, start=start, sampler=words, **facts)


# -- Tomita's grammars --------------------------------------------------------------------------------------

TOMITA = (
    _language(
        "tomita_1",
        "1 if all bits so far are ones: 1*",
        BITS,
        {"y": "y[t-1] and x[t]"},
        {"y": 1.0},
        window_class="b",
    ),
    _language(
        "tomita_2",
        "1 if the bits so far are (10)*",
        BITS,
        {"alive": "alive[t-1] and x[t] != x[t-1]", "y": "alive[t] and not x[t]"},
        {"alive": 1.0},
    ),
    # odd: the present run of equal bits is of odd length; seen: such a run of ones has ended
    _language(
        "tomita_3",
        "1 unless a run of zeros of odd length stands anywhere after a run of ones of odd length",
        BITS,
        {
            "odd": "1 - odd[t-1] if x[t] == x[t-1] else 1",
            "seen": "seen[t-1] or x[t] < x[t-1] and odd[t-1]",
            "dead": "dead[t-1] or x[t] > x[t-1] and odd[t-1] and seen[t-1]",
            "y": "not (dead[t] or seen[t] and odd[t] and not x[t])",
        },
    ),
    _language(
        "tomita_4",
        "1 if there is no 000 so far",
        BITS,
        {"zeros": "3 if zeros[t-1] >= 3 else 0 if x[t] else zeros[t-1] + 1", "y": "zeros[t] < 3"},
    ),
    _language(
        "tomita_5",
        "1 if there are evenly many zeros and evenly many ones so far",
        BITS,
        {
            "zeros": "(zeros[t-1] + 1 - x[t]) % 2",
            "ones": "(ones[t-1] + x[t]) % 2",
            "y": "not (zeros[t] or ones[t])",
        },
    ),
    _language(
        "tomita_6",
        "1 if zeros less ones so far is a multiple of 3",
        BITS,
        {"r": "(r[t-1] + 1 - 2*x[t]) % 3", "y": "r[t] == 0"},
    ),
    _language(
        "tomita_7",
        "1 if the bits so far are 0*1*0*1*",
        BITS,
        {"phase": "min(phase[t-1] + [x[t] != x[t-1]], 4)", "y": "phase[t] < 4"},
    ),
)

# -- brackets -----------------------------------------------------------------------------------------------


#: One kind of bracket, as far as it steers: far beyond, the depth is not followed.
DYCK_1_STEERED = {**BALANCED, "depth": f"0 if dead[t-1] else min(max({BALANCED['depth']}, -1), {FAR})"}


def _dyck_2(most: int) -> Task:
    """The stack is a number in base 3 with a digit for each open bracket, 1 or 2, the last one lowest."""
    return _language(
        f"dyck_2_depth_{most}",
        f"1 if brackets of two kinds are balanced, never deeper than {most} (0 and 2 open, 1 and 3 close)",
        integers(0, 3),
        {
            "kind": "1 + [x[t] >= 2]",
            "wrong": f"[stack[t-1] % 3 != kind[t]] if x[t] % 2 else [stack[t-1] >= {3 ** (most - 1)}]",
            "dead": "dead[t-1] or wrong[t]",
            "stack": "0 if dead[t] else stack[t-1] // 3 if x[t] % 2 else 3*stack[t-1] + kind[t]",
            "y": "stack[t] == 0 and not dead[t]",
        },
    )


BOUNDED = (_dyck_2(2), _dyck_2(3))

# -- hidden states, finitely many ---------------------------------------------------------------------------


def mostly_reads(rng: np.random.Generator, n: int, length: int) -> np.ndarray:
    """Instructions of which half read, and bits of which two in three are ones."""
    instructions = np.array([0.0, 1.0, 2.0, 2.0])[rng.integers(0, 4, (n, length))]
    return np.stack([instructions, np.minimum(rng.integers(0, 3, (n, length)), 1.0)], axis=-1)


HIDDEN = (
    _task(
        "flip_flop",
        "the bit that was written last, shown when it is read, else 0 (0 ignores, 1 writes, 2 reads)",
        {"instruction": integers(0, 2), "bit": BITS},
        {
            "memory": "bit[t] if instruction[t] == 1 else memory[t-1]",
            "y": "memory[t] if instruction[t] == 2 else 0",
        },
        sampler=mostly_reads,
    ),
    _task(
        "parity_with_resets",
        "parity of the ones since the last 2",
        integers(0, 2),
        "0 if x[t] == 2 else (y[t-1] + x[t]) % 2",
        window_class="b",
    ),
    _language(
        "count_mod_5",
        "1 if the number of ones so far is a multiple of 5",
        BITS,
        {"r": "(r[t-1] + x[t]) % 5", "y": "r[t] == 0"},
    ),
    _language(
        "divisible_by_7",
        "1 if the bits so far are a multiple of 7 in binary, most significant bit first",
        BITS,
        {"r": "(2*r[t-1] + x[t]) % 7", "y": "r[t] == 0"},
    ),
    _language(
        "word_problem_s3",
        "1 if three cups stand as at first (0 swaps the first two, 1 takes the last to the front)",
        BITS,
        {
            "first": "third[t-1] if x[t] else second[t-1]",
            "second": "first[t-1]",
            "third": "second[t-1] if x[t] else third[t-1]",
            "y": "first[t] == 1 and second[t] == 2",
        },
        {"first": 1.0, "second": 2.0, "third": 3.0},
    ),
)

# -- what grows with the length -----------------------------------------------------------------------------

SYMBOLS = integers(1, 4)


def _counter(floor: bool, most: int | None = None) -> dict[str, Formula]:
    """A count of steps up and down; with a floor it stays at 0 where it would fall below."""
    counted = "max(count[t-1] + x[t], 0)" if floor else "count[t-1] + x[t]"
    return {
        "count": counted if most is None else f"min(max({counted}, -{most}), {most})",
        "y": "count[t] == 0",
    }


def _histogram() -> Mapping[str, Formula]:
    """A count for each symbol."""
    symbols = [int(value) for value in SYMBOLS.values()]
    *others, last = symbols
    shown = reduce(lambda rest, k: f"n{k}[t] if x[t] == {k} else {rest}", others, f"n{last}[t]")
    return {f"n{k}": f"n{k}[t-1] + [x[t] == {k}]" for k in symbols} | {"y": shown}


FINITE = (*TOMITA, *BOUNDED, *HIDDEN)
ENDLESS = (
    _language(
        "dyck_1",
        "1 if the brackets so far are balanced, at any depth (0 opens, 1 closes)",
        BITS,
        BALANCED,
        length=LONG,
        steered_by=DYCK_1_STEERED,
    ),
    _language(
        "counter_zero",
        "1 if as many steps went up as down so far",
        integers(-1, 1),
        _counter(floor=False),
        length=LONG,
        steered_by=_counter(floor=False, most=FAR),
    ),
    _language(
        "counter_floor",
        "1 if a counter that never falls below 0 is at 0",
        integers(-1, 1),
        _counter(floor=True),
        length=LONG,
        steered_by=_counter(floor=True, most=FAR),
    ),
    _task(
        "induction",
        "the symbol that followed the last earlier one that equals the present one, 0 if there is none",
        SYMBOLS,
        {"before": "x[t-1]", "y": Retrieval(key="before", value="x", query=Var("x"), gap=0)},
        length=LONG,
        state_tracking=False,
    ),
    _task(
        "histogram",
        "how often the present symbol has occurred so far",
        SYMBOLS,
        _histogram(),
        length=LONG,
        state_tracking=False,
    ),
)

TASKS = (*FINITE, *ENDLESS)
