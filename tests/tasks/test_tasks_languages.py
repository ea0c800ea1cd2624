"""Formal languages against independent definitions (regular expressions, counts, stacks), and their words."""

import re

import numpy as np
import pytest

from weights2code import tasks

LANGUAGES = tasks.all_tasks("languages")

#: Words that have an odd run of zeros somewhere after an odd run of ones (Weiss, Goldberg and Yahav 2018).
NOT_TOMITA_3 = "((0|1)*0)?1(11)*(0(0|1)*1)?0(00)*(1(0|1)*)?"


def text(word):
    return "".join(str(symbol) for symbol in word)


def matches(pattern):
    return lambda word: re.fullmatch(pattern, text(word)) is not None


def balanced(pairs, deepest=10**9):
    """By crossing out: what is left of a balanced word is nothing."""

    def check(word):
        opened = []
        for symbol in word:
            if symbol in pairs:
                opened.append(symbol)
            elif not opened or pairs[opened.pop()] != symbol:
                return False
            if len(opened) > deepest:
                return False
        return not opened

    return check


def cups(word):
    order = ["left", "middle", "right"]
    for symbol in word:
        order = [order[2], *order[:2]] if symbol else [order[1], order[0], order[2]]
    return order == ["left", "middle", "right"]


def last_written(word):
    written = [0, *(bit for kind, bit in word if kind == 1)]
    return written[-1] if word[-1][0] == 2 else 0


def never_below_zero(word):
    level = 0
    for step in word:
        level = 0 if level == 0 and step < 0 else level + step
    return level == 0


def followed(word):
    earlier = [s for s in range(len(word) - 1) if word[s] == word[-1]]
    return word[earlier[-1] + 1] if earlier else 0


DEFINITIONS = {
    "tomita_1": matches("1*"),
    "tomita_2": matches("(10)*"),
    "tomita_3": lambda word: not matches(NOT_TOMITA_3)(word),
    "tomita_4": lambda word: "000" not in text(word),
    "tomita_5": lambda word: word.count(0) % 2 == 0 and word.count(1) % 2 == 0,
    "tomita_6": lambda word: (word.count(0) - word.count(1)) % 3 == 0,
    "tomita_7": matches("0*1*0*1*"),
    "dyck_1": balanced({0: 1}),
    "dyck_2_depth_2": balanced({0: 1, 2: 3}, 2),
    "dyck_2_depth_3": balanced({0: 1, 2: 3}, 3),
    "flip_flop": last_written,
    "parity_with_resets": lambda word: text(word).rpartition("2")[2].count("1") % 2,
    "count_mod_5": lambda word: sum(word) % 5 == 0,
    "divisible_by_7": lambda word: int(text(word), 2) % 7 == 0,
    "word_problem_s3": cups,
    "counter_zero": lambda word: sum(word) == 0,
    "counter_floor": never_below_zero,
    "induction": followed,
    "most_frequent": lambda word: min(set(word), key=lambda symbol: (-word.count(symbol), symbol)),
    "histogram": lambda word: word.count(word[-1]),
}


def as_words(inputs):
    """Plain Python: numbers, or tuples where there are several columns."""
    plain = inputs.astype(int)
    return (
        plain[:, :, 0].tolist() if inputs.shape[2] == 1 else [[*map(tuple, word)] for word in plain.tolist()]
    )


@pytest.mark.parametrize("task", LANGUAGES, ids=lambda task: task.name)
def test_machines_equal_plain_definitions(task):
    """At every prefix of its own words and of uniform ones, and on every short word."""
    right = DEFINITIONS[task.aliases[0] if task.aliases else task.name]
    values, rng = [domain.values() for domain in task.domains], np.random.default_rng(5)
    uniform = np.stack([rng.choice(some, (60, 24)) for some in values], axis=-1)
    for inputs in (task.sample(60, 24, seed=1)[0], uniform):
        for word, answer in zip(as_words(inputs), task.reference(inputs).tolist(), strict=True):
            assert answer == [int(right(word[: t + 1])) for t in range(len(word))]
    length = 9 if len(values) == 1 and len(values[0]) == 2 else 4
    grids = np.meshgrid(*[some for some in values for _ in range(length)], indexing="ij")
    inputs = np.stack(grids, axis=-1).reshape(-1, len(values), length).swapaxes(1, 2)
    last = task.reference(inputs)[:, -1]
    assert last.tolist() == [int(right(word)) for word in as_words(inputs)]


@pytest.mark.parametrize("task", LANGUAGES, ids=lambda task: task.name)
def test_both_answers_are_common_at_every_length(task):
    for length in (12, 20, 40, 120):
        values, counts = np.unique(task.sample(1500, length, seed=2)[1], return_counts=True)
        share = counts / counts.sum()
        assert share.min() > 0.19 if len(values) == 2 else share.max() < 0.5
