"""Formal languages and what else automata extraction is measured on: memory that outputs do not show.

The answer at each position is about the prefix up to it: 1 if it is a word of the language, 0 if not. The
machines count, stack and flip inside, and only a bit of that is seen. Tomita's seven grammars (1982) are as
Weiss, Goldberg and Yahav (2018) state them; bounded stacks, counters, flip-flops and word problems of groups
come from the literature on what networks recognise, induction and histogram from that on transformers.
"""

from __future__ import annotations

from collections.abc import Mapping
from functools import reduce
from itertools import starmap

import numpy as np

from weights2code.language import (
    BITS,
    Definition,
    Domain,
    Expr,
    Recurrence,
    Retrieval,
    Start,
    Step,
    Var,
    integers,
    maximum,
    minimum,
    op,
    where,
)
from weights2code.tasks.declare import declare
from weights2code.tasks.task import Category, Sampler, Task, WindowClass
from weights2code.tasks.words import LanguageWords

LANGUAGES: Category = "Formal Languages"
#: Sequences from which finite machines are learned, and those where something grows with the length.
SHORT, LONG = 12, 20
#: Counters steer the sampler up to here; they count on for the task.
FAR = 12

x, x1, y1 = Var("x"), Var("x", 1), Var("y", 1)


def _both(one: Expr, other: Expr) -> Expr:
    return op("and", one, other)


def _either(one: Expr, other: Expr) -> Expr:
    return op("or", one, other)


def _no(one: Expr) -> Expr:
    return op("not", one)


def _task(
    name: str,
    description: str,
    inputs: Domain | Mapping[str, Domain],
    steps: Definition | Mapping[str, Definition],
    start: Mapping[str, Start] | None = None,
    *,
    length: int = SHORT,
    window_class: WindowClass = "c",
    tagged: bool | None = None,
    sampler: Sampler | None = None,
) -> Task:
    return declare(
        description,
        inputs,
        steps,
        language=name,
        start=start,
        length=length,
        category=LANGUAGES,
        window_class=window_class,
        tagged=tagged,
        sampler=sampler,
    )


def _language(
    name: str,
    description: str,
    domain: Domain,
    steps: Mapping[str, Definition],
    start: Mapping[str, Start] | None = None,
    *,
    length: int = SHORT,
    window_class: WindowClass = "c",
    steered_by: Mapping[str, Definition] | None = None,
) -> Task:
    """A language over one column, with words of it among the samples."""
    definitions = tuple(starmap(Step, (steered_by or steps).items()))
    machine = Recurrence(("x",), definitions, ("y",), dict(start or {}))
    words = LanguageWords(machine, domain)
    return _task(
        name, description, domain, steps, start, length=length, window_class=window_class, sampler=words
    )


# -- Tomita's grammars --------------------------------------------------------------------------------------

odd, seen, dead, alive = Var("odd"), Var("seen"), Var("dead"), Var("alive")
zeros1, phase = Var("zeros", 1), Var("phase")

TOMITA = (
    _language(
        "tomita_1",
        "1 if all bits so far are ones: 1*",
        BITS,
        {"y": _both(y1, x)},
        {"y": 1.0},
        window_class="b",
    ),
    _language(
        "tomita_2",
        "1 if the bits so far are (10)*",
        BITS,
        {"alive": _both(Var("alive", 1), op("ne", x, x1)), "y": _both(alive, _no(x))},
        {"alive": 1.0},
    ),
    # odd: the present run of equal bits is of odd length; seen: such a run of ones has ended
    _language(
        "tomita_3",
        "1 unless a run of zeros of odd length stands anywhere after a run of ones of odd length",
        BITS,
        {
            "odd": where(x.equals(x1), 1 - Var("odd", 1), 1),
            "seen": _either(Var("seen", 1), _both(x < x1, Var("odd", 1))),
            "dead": _either(Var("dead", 1), _both(_both(x > x1, Var("odd", 1)), Var("seen", 1))),
            "y": _no(_either(dead, _both(_both(seen, odd), _no(x)))),
        },
    ),
    _language(
        "tomita_4",
        "1 if there is no 000 so far",
        BITS,
        {
            "zeros": where(zeros1 >= 3, 3, where(x, 0, zeros1 + 1)),
            "y": Var("zeros") < 3,
        },
    ),
    _language(
        "tomita_5",
        "1 if there are evenly many zeros and evenly many ones so far",
        BITS,
        {
            "zeros": (zeros1 + 1 - x) % 2,
            "ones": (Var("ones", 1) + x) % 2,
            "y": _no(_either(Var("zeros"), Var("ones"))),
        },
    ),
    _language(
        "tomita_6",
        "1 if zeros less ones so far is a multiple of 3",
        BITS,
        {"r": (Var("r", 1) + 1 - 2 * x) % 3, "y": Var("r").equals(0)},
    ),
    _language(
        "tomita_7",
        "1 if the bits so far are 0*1*0*1*",
        BITS,
        {"phase": minimum(Var("phase", 1) + op("ne", x, x1), 4), "y": phase < 4},
    ),
)

# -- brackets -----------------------------------------------------------------------------------------------

depth, stack, stack1 = Var("depth"), Var("stack"), Var("stack", 1)


def _dyck_1(most: int | None = None) -> dict[str, Definition]:
    """One kind of bracket; beyond `most` the depth is not followed."""
    deeper = Var("depth", 1) + 1 - 2 * x
    return {
        "depth": deeper if most is None else where(Var("dead", 1), 0, minimum(maximum(deeper, -1), most)),
        "dead": _either(Var("dead", 1), depth < 0),
        "y": _both(depth.equals(0), _no(dead)),
    }


def _dyck_2(most: int) -> Task:
    """The stack is a number in base 3 with a digit for each open bracket, 1 or 2, the last one lowest."""
    kind, closes = Var("kind"), x % 2
    return _language(
        f"dyck_2_depth_{most}",
        f"1 if brackets of two kinds are balanced, never deeper than {most} (0 and 2 open, 1 and 3 close)",
        integers(0, 3),
        {
            "kind": 1 + (x >= 2),
            "wrong": where(closes, op("ne", stack1 % 3, kind), stack1 >= 3 ** (most - 1)),
            "dead": _either(Var("dead", 1), Var("wrong")),
            "stack": where(dead, 0, where(closes, stack1 // 3, 3 * stack1 + kind)),
            "y": _both(stack.equals(0), _no(dead)),
        },
    )


BOUNDED = (_dyck_2(2), _dyck_2(3))

# -- hidden states, finitely many ---------------------------------------------------------------------------

instruction, bit, memory = Var("instruction"), Var("bit"), Var("memory")
r, count, count1 = Var("r"), Var("count"), Var("count", 1)
first, second = Var("first"), Var("second")


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
            "memory": where(instruction.equals(1), bit, Var("memory", 1)),
            "y": where(instruction.equals(2), memory, 0),
        },
        sampler=mostly_reads,
    ),
    _task(
        "parity_with_resets",
        "parity of the ones since the last 2",
        integers(0, 2),
        where(x.equals(2), 0, (y1 + x) % 2),
        window_class="b",
    ),
    _language(
        "count_mod_5",
        "1 if the number of ones so far is a multiple of 5",
        BITS,
        {"r": (Var("r", 1) + x) % 5, "y": r.equals(0)},
    ),
    _language(
        "divisible_by_7",
        "1 if the bits so far are a multiple of 7 in binary, most significant bit first",
        BITS,
        {"r": (2 * Var("r", 1) + x) % 7, "y": r.equals(0)},
    ),
    _language(
        "word_problem_s3",
        "1 if three cups stand as at first (0 swaps the first two, 1 takes the last to the front)",
        BITS,
        {
            "first": where(x, Var("third", 1), Var("second", 1)),
            "second": Var("first", 1),
            "third": where(x, Var("second", 1), Var("third", 1)),
            "y": _both(first.equals(1), second.equals(2)),
        },
        {"first": 1.0, "second": 2.0, "third": 3.0},
    ),
)

# -- what grows with the length -----------------------------------------------------------------------------

SYMBOLS = integers(1, 4)


def _counter(floor: bool, most: int | None = None) -> dict[str, Definition]:
    """A count of steps up and down; with a floor it stays at 0 where it would fall below."""
    counted = maximum(count1 + x, 0) if floor else count1 + x
    return {
        "count": counted if most is None else minimum(maximum(counted, -most), most),
        "y": count.equals(0),
    }


def _histogram() -> dict[str, Definition]:
    """A count for each symbol."""
    symbols = [int(value) for value in SYMBOLS.values()]
    steps: dict[str, Definition] = {f"n{k}": Var(f"n{k}", 1) + x.equals(k) for k in symbols}
    *others, last = symbols
    shown: Expr = Var(f"n{last}")
    return {**steps, "y": reduce(lambda rest, k: where(x.equals(k), Var(f"n{k}"), rest), others, shown)}


FINITE = (*TOMITA, *BOUNDED, *HIDDEN)
ENDLESS = (
    _language(
        "dyck_1",
        "1 if the brackets so far are balanced, at any depth (0 opens, 1 closes)",
        BITS,
        _dyck_1(),
        length=LONG,
        steered_by=_dyck_1(FAR),
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
        {"before": x1, "y": Retrieval(key="before", value="x", query=x, gap=0)},
        length=LONG,
        tagged=True,
    ),
    _task(
        "histogram",
        "how often the present symbol has occurred so far",
        SYMBOLS,
        _histogram(),
        length=LONG,
        tagged=True,
    ),
)

TASKS = (*FINITE, *ENDLESS)
