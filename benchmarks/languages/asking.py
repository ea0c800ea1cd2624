"""A reference that is walked through beside learners that ask it: states and seconds on the finite languages.

    python benchmarks/languages/asking.py [TASK ...]

The walk is that of the search (`memory/exploring.py`): every state that the reference can come to, then the
smallest machine. The learners are AALpy's L* and that of Kearns and Vazirani, with random walks from every
state to look for counterexamples.
"""

from __future__ import annotations

import random
import sys
import time
from collections.abc import Callable
from itertools import product
from typing import Any

import numpy as np
from aalpy.base import SUL
from aalpy.learning_algs import run_KV, run_Lstar
from aalpy.oracles import RandomWMethodEqOracle

from weights2code import tasks
from weights2code.memory.exploring import explored
from weights2code.settings import Settings
from weights2code.source import problem_of
from weights2code.tasks.languages import FINITE

#: Random walks from each state that look for a counterexample, and their length.
WALKS, LENGTH = 50, 20


class Asked(SUL):
    """The reference, a symbol at a time; what it has answered before is remembered."""

    def __init__(self, task: tasks.Task) -> None:
        super().__init__()
        self.task = task
        self.word: list[tuple[float, ...]] = []
        self.known: dict[tuple[tuple[float, ...], ...], float] = {}

    def pre(self) -> None:
        self.word = []

    def post(self) -> None:
        pass

    def step(self, letter: tuple[float, ...]) -> float:
        self.word.append(letter)
        word = tuple(self.word)
        if word not in self.known:
            for t, y in enumerate(self.task.machine.run(np.array([word]))[0, :, 0].tolist()):
                self.known[word[: t + 1]] = y
        return self.known[word]


def asked(task: tasks.Task, learner: Callable[..., Any]) -> tuple[int, float, int]:
    """States, seconds and questions of a learner."""
    random.seed(0)
    letters = list(product(*(map(float, domain.values()) for domain in task.domains)))
    reference, began = Asked(task), time.process_time()
    oracle = RandomWMethodEqOracle(letters, reference, walks_per_state=WALKS, walk_len=LENGTH)
    found = learner(letters, reference, oracle, automaton_type="mealy", print_level=0)
    return len(found.states), time.process_time() - began, reference.num_queries


def main() -> None:
    for name in sys.argv[1:] or [task.name for task in FINITE]:
        task = tasks.get(name)
        problem = problem_of(task.name, Settings(samples=64))
        began = time.process_time()
        machine = explored(problem)
        seconds = time.process_time() - began
        print(f"{task.name}: walked through {machine.states if machine else '-'} in {seconds:.3f} s", end="")
        for word, learner in (("L*", run_Lstar), ("KV", run_KV)):
            states, seconds, questions = asked(task, learner)
            print(f"; {word} {states} in {seconds:.2f} s, {questions} questions", end="", flush=True)
        print()


if __name__ == "__main__":
    main()
