"""Formal languages against independent definitions (regular expressions, counts, stacks), and their words."""

import re

import numpy as np
import pytest

from weights2code import tasks
from weights2code.language import Recurrence, Retrieval, Step, Var, minimum, op, where
from weights2code.tasks.words import LanguageWords, explored
from weights2code.verify import certify

LANGUAGES = tasks.all_tasks("languages")

#: Words that have an odd run of zeros somewhere after an odd run of ones (Weiss, Goldberg and Yahav 2018).
NOT_TOMITA_3 = re.compile("((0|1)*0)?1(11)*(0(0|1)*1)?0(00)*(1(0|1)*)?")


def matches(pattern):
    return lambda word: re.fullmatch(pattern, text(word)) is not None


def text(word):
    return "".join(str(symbol) for symbol in word)


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
    instruction, _ = word[-1]
    written = [0, *(bit for kind, bit in word if kind == 1)]
    return written[-1] if instruction == 2 else 0


def parity_since_two(word):
    return text(word).rpartition("2")[2].count("1") % 2


def never_below_zero(word):
    level = 0
    for step in word:
        level = 0 if level == 0 and step < 0 else level + step
    return level == 0


def followed(word):
    earlier = [s for s in range(len(word) - 1) if word[s] == word[-1]]
    return word[earlier[-1] + 1] if earlier else 0


def most_frequent(word):
    return min(set(word), key=lambda symbol: (-word.count(symbol), symbol))


DEFINITIONS = {
    "tomita_1": matches("1*"),
    "tomita_2": matches("(10)*"),
    "tomita_3": lambda word: NOT_TOMITA_3.fullmatch(text(word)) is None,
    "tomita_4": lambda word: "000" not in text(word),
    "tomita_5": lambda word: word.count(0) % 2 == 0 and word.count(1) % 2 == 0,
    "tomita_6": lambda word: (word.count(0) - word.count(1)) % 3 == 0,
    "tomita_7": matches("0*1*0*1*"),
    "dyck_1": balanced({0: 1}),
    "dyck_2_depth_2": balanced({0: 1, 2: 3}, 2),
    "dyck_2_depth_3": balanced({0: 1, 2: 3}, 3),
    "flip_flop": last_written,
    "parity_with_resets": parity_since_two,
    "count_mod_5": lambda word: sum(word) % 5 == 0,
    "divisible_by_7": lambda word: int(text(word), 2) % 7 == 0,
    "word_problem_s3": cups,
    "counter_zero": lambda word: sum(word) == 0,
    "counter_floor": never_below_zero,
    "induction": followed,
    "most_frequent": most_frequent,
    "histogram": lambda word: word.count(word[-1]),
}
#: The states that a machine needs which tells all prefixes by their future, the empty one among them.
STATES = {
    "tomita_1": 2, "tomita_2": 3, "tomita_3": 5, "tomita_4": 4, "tomita_5": 4, "tomita_6": 3, "tomita_7": 5,
    "dyck_2_depth_2": 8, "dyck_2_depth_3": 16, "count_mod_5": 5, "divisible_by_7": 7, "word_problem_s3": 6,
}  # fmt: skip


def as_words(inputs):
    """Plain Python: numbers, or tuples where there are several columns."""
    plain = inputs.astype(int)
    return (
        plain[:, :, 0].tolist() if inputs.shape[2] == 1 else [[*map(tuple, word)] for word in plain.tolist()]
    )


def test_every_task_of_the_suite_has_a_definition_here():
    assert {tasks.get(name) for name in DEFINITIONS} == set(LANGUAGES)


@pytest.mark.parametrize("name", DEFINITIONS)
def test_machines_equal_plain_definitions(name):
    """At every prefix of its own words and of uniform ones, and on every short word."""
    task = tasks.get(name)
    values, rng = [domain.values() for domain in task.domains], np.random.default_rng(5)
    uniform = np.stack([rng.choice(some, (60, 24)) for some in values], axis=-1)
    for inputs in (task.sample(60, 24, seed=1)[0], uniform):
        for word, answer in zip(as_words(inputs), task.reference(inputs).tolist(), strict=True):
            assert answer == [int(DEFINITIONS[name](word[: t + 1])) for t in range(len(word))]
    length = 9 if len(values) == 1 and len(values[0]) == 2 else 4
    grids = np.meshgrid(*[some for some in values for _ in range(length)], indexing="ij")
    inputs = np.stack(grids, axis=-1).reshape(-1, len(values), length).swapaxes(1, 2)
    last = task.reference(inputs)[:, -1]
    assert last.tolist() == [int(DEFINITIONS[name](word)) for word in as_words(inputs)]


@pytest.mark.parametrize("task", LANGUAGES, ids=lambda task: task.name)
def test_both_answers_are_common_at_every_length(task):
    for length in (12, 20, 40, 120):
        values, counts = np.unique(task.sample(1500, length, seed=2)[1], return_counts=True)
        share = counts / counts.sum()
        assert share.min() > 0.19 if len(values) == 2 else share.max() < 0.5


@pytest.mark.parametrize("name", STATES)
def test_finite_languages_have_as_many_states_as_they_need(name):
    task = tasks.get(name)
    table = explored(task.machine, tuple(task.domains[0].values()))
    kinds = np.where(table.to_word == 0, 1, 0)
    kinds[0] = DEFINITIONS[name]([]) if name != "divisible_by_7" else 1  # the empty word, before any output
    for _ in range(len(kinds)):  # states that no further symbol tells apart stay together
        told = np.column_stack([kinds, kinds[table.following]])
        kinds = np.unique(told, axis=0, return_inverse=True)[1].ravel()
    assert len(set(kinds.tolist())) == STATES[name]


@pytest.mark.slow
@pytest.mark.parametrize("name", ["tomita_3", "dyck_2_depth_3", "divisible_by_7", "word_problem_s3"])
def test_words_take_every_step_of_the_machine(name):
    task = tasks.get(name)
    symbols = tuple(task.domains[0].values())
    table = explored(task.machine, symbols)
    taken = set()
    for word in task.sample(2000, seed=3)[0][:, :, 0].tolist():
        state = 0
        for symbol in word:
            taken.add((state, symbols.index(symbol)))
            state = table.following[state, symbols.index(symbol)]
    assert taken == {(state, k) for state in range(len(table.following)) for k in range(len(symbols))}


def test_a_sampler_that_follows_a_shorter_counter_still_gives_the_words_of_the_task():
    task = tasks.get("dyck_1")
    assert isinstance(task.sampler, LanguageWords)
    assert isinstance(task.sampler.machine, Recurrence)
    assert task.sampler.machine != task.machine
    depths = task.machine.trace(task.sample(500, 60, seed=4)[0])["depth"]
    assert depths.max() > 12  # deeper than the sampler looks


x, depth, lowest, state1 = Var("x"), Var("depth"), Var("lowest"), Var("state", 1)
#: Other machines for the same languages, as a search might find them.
OTHERWISE = {
    "tomita_7": {
        "state": where(x.equals(state1 % 2), state1, minimum(state1, 3) + 1),
        "y": Var("state") <= 3,
    },
    "divisible_by_7": {"state": (2 * state1 + x) % 7, "y": Var("state") <= 0},
    "word_problem_s3": {
        "state": where(x, state1 + 2, 1 - state1) % 6,
        "y": Var("state").equals(0),
    },
    "dyck_1": {
        "depth": Var("depth", 1) + 1 - 2 * x,
        "lowest": minimum(Var("lowest", 1), depth),
        "y": op("and", depth.equals(0), lowest >= 0),
    },
    "counter_floor": {
        "depth": Var("depth", 1) + x,
        "lowest": minimum(Var("lowest", 1), depth),
        "y": depth.equals(lowest),
    },
    "histogram": {"before": Retrieval(key="x", value="y", query=x), "y": Var("before") + 1},
}


@pytest.mark.parametrize("name", OTHERWISE)
def test_other_machines_for_the_same_language_are_proved(name):
    task = tasks.get(name)
    steps = tuple(Step(step, rule) for step, rule in OTHERWISE[name].items())
    facts = {"reference": task.machine, "domains": task.domains, "length": task.length}
    right = Recurrence(("x",), steps, ("y",))
    assert certify(right, **facts, integer_outputs=True, sampler=task.draw).verdict == "proved"
    other = (Step("answer", steps[-1].definition), Step("y", 1 - Var("answer")))
    wrong = Recurrence(("x",), (*steps[:-1], *other), ("y",))
    assert certify(wrong, **facts, integer_outputs=True, sampler=task.draw).verdict == "failed"
