"""Sequences that refute a rule, as rows that the next one must get right."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace

import numpy as np

from weights2code.data import Problem, Sequences
from weights2code.verify import Certificate

#: Training sequences of a known machine that rules are regressed on: the paper's million would only be slow.
REGRESSED_ON = 8192
#: Training sequences whose beginnings are put before a refuting sequence.
BEGINNINGS = 24
#: A refuting sequence may be so many times as long as they are; what comes with a longer one is, at least.
LONGER, LONG = 20, 4


def lighter(problem: Problem) -> Problem:
    """The problem with as many training sequences as regressions want, if a machine can make more."""
    if problem.reference is None or len(problem.training.x) <= REGRESSED_ON:
        return problem
    return replace(problem, training=problem.training.take(slice(0, REGRESSED_ON)))


def with_counterexample(problem: Problem, certificate: Certificate) -> Problem:
    """The refuting sequence joins the training sequences."""
    more = counterexamples(problem, certificate)
    return problem if more is None else replace(problem, training=problem.training.beside(more))


def counterexamples(problem: Problem, certificate: Certificate) -> Sequences | None:
    """The refuting sequence, and others that show the same; None if there is none that may be learned from.

    Rules are regressed where every lag lies inside the sequence, so the refuting inputs also come after the
    beginnings of some training sequences. One that is longer than these shows what only long sequences do:
    training sequences that are laid end to end, and inputs that are held for a while, come with it.
    """
    if problem.reference is None or certificate.counterexample is None:
        return None
    training = problem.training
    _, length, columns = training.x.shape
    found = np.array(certificate.counterexample, dtype=float).reshape(-1, columns)
    longest = length
    if len(found) > LONGER * length or training.context is not None:
        return None
    if len(found) > length:
        longest = max(len(found), LONG * length)
        x = np.concatenate([np.zeros((1, longest, columns)), *_long_sequences(training, longest)])
        x[0, : len(found)] = found
    else:
        x = np.concatenate([np.zeros((1, length, columns)), training.x[:BEGINNINGS]])
        x[0, : len(found)] = found
        x[1:, length - len(found) :] = found
    lengths = np.concatenate([[len(found)], np.full(len(x) - 1, longest)])
    return Sequences(x, problem.reference.run(x), lengths)


def _long_sequences(training: Sequences, longest: int) -> Iterator[np.ndarray]:
    """Inputs of training sequences end to end, and each of them held as long as a sequence is."""
    length = training.x.shape[1]
    whole = training.x[training.lengths == length]
    each = -(-longest // length)
    many = min(BEGINNINGS, len(whole) // each)
    if many:
        chosen = whole[: many * each].reshape(many, each, length, -1)
        yield chosen.reshape(many, each * length, -1)[:, :longest]
        yield np.repeat(chosen[:, :, 0], length, axis=1)[:, :longest]
