"""The hunt finds where two part, makes it short, and says when nothing shorter can be."""

import numpy as np
import pytest

from weights2code.language import BITS, Recurrence, Step, Var, integers, reals
from weights2code.verify import certify
from weights2code.verify.hunt import Hunt, all_sequences, counterexample, drawn, every_row

PARITY = Recurrence(("x",), (Step("y", (Var("x") + Var("y", 1)) % 2),), ("y",))


def hunt(target, domains=(BITS,), program=PARITY, length=6, budget=5000, near=0.499, **more):
    return Hunt(program, target, domains, length, None, near, budget, np.random.default_rng(0), **more)


def counted(x, most, key=1.0):
    """Parity that sees no more than so many ones."""
    return np.minimum(np.cumsum(x[:, :, 0] == key, 1), most)[..., None] % 2


def sure(outputs):
    return outputs, np.full(outputs.shape[:2], np.inf)


def test_equal_ones_are_never_parted():
    found = hunt(lambda x: sure(counted(x, 1000)))
    found.whole()
    assert not found.departed
    assert found.exhaustive == 11
    assert found.asked <= 5000


def test_shortest_departure_is_proven():
    found = hunt(lambda x: sure(counted(x, 7)))
    found.whole()
    first = found.departures()[0]
    assert first.inputs[:, 0].tolist() == [1] * 8
    assert found.proven
    assert (first.model, first.meant) == ((1.0,), (0.0,))


def test_long_departure_is_made_shorter():
    """Beyond what can be gone through: 30 ones, found in long runs, stripped of all else."""
    found = hunt(lambda x: sure(counted(x, 29)), budget=40_000, length=8)
    found.whole()
    assert found.departures()[0].inputs[:, 0].tolist() == [1] * 30
    assert not found.proven


def test_small_margins_are_climbed_down():
    """One sequence of 4^8 is wrong; the margin says how near others are to it."""
    secret = np.array([3, 1, 2, 0, 3, 3, 1, 2.0])
    program = Recurrence(("x",), (Step("y", 0 * Var("x")),), ("y",))

    def target(x):
        y = np.zeros((*x.shape[:2], 1))
        room = np.full(x.shape[:2], 9.0)
        if x.shape[1] >= 8:
            met = (x[:, :8, 0] == secret).sum(1)
            y[met == 8, 7] = 1
            room[:, 7] = np.where(met == 8, 0.5, 8.0 - met)
        return y, room

    found = hunt(target, (integers(0, 3),), program, length=8, budget=30_000)
    found.climb(8)
    assert found.departures()[0].inputs[:, 0].tolist() == secret.tolist()


def test_an_error_that_adds_up_is_driven_to_its_worst():
    """A leak of one in ten thousand shows only if all inputs are large."""
    program = Recurrence(("x",), (Step("y", Var("x") + Var("y", 1)),), ("y",))

    def leaking(x):
        y = np.zeros(x.shape)
        for t in range(x.shape[1]):
            y[:, t] = x[:, t] + (0.9999 * y[:, t - 1] if t else 0)
        return np.round(y), (0.5 - np.abs(y - np.round(y))).min(2)

    found = hunt(leaking, (integers(0, 99),), program, length=10)
    found.whole()
    assert len(found.departures()[0].inputs) == 11
    assert (found.departures()[0].inputs > 80).all()


def test_reals_may_differ_by_the_tolerance():
    program = Recurrence(("v",), (Step("y", Var("v")),), ("y",))
    found = hunt(lambda x: sure(x + 0.01 * x), (reals(0, 1),), program, near=0.02)
    found.whole()
    assert not found.departed
    assert found.thinnest[0][0] == pytest.approx(0.01, rel=0.01)


def test_every_row_and_every_sequence():
    rows = every_row((BITS, integers(1, 3)))
    assert rows is not None
    assert len(rows) == 6
    assert len(np.unique(np.concatenate(list(all_sequences(rows, 3))).reshape(216, -1), axis=0)) == 216
    assert every_row((reals(0, 1),)) is None


@pytest.mark.parametrize("length", [0, 1, 7])
def test_drawn_sequences_stay_in_their_domains(length):
    x = drawn(np.random.default_rng(1), (BITS, integers(2, 5), reals(0, 1)), 50, length)
    assert x.shape == (50, length, 3)
    assert ((x[..., 1] >= 2) & (x[..., 1] <= 5) & (x[..., 1] == np.round(x[..., 1]))).all()


def test_certificate_of_a_program_is_hunted_too():
    """A rule that is wrong only after 14 ones in a row, against what can be run and no more."""

    class Given:
        def run(self, x):
            run = np.zeros(x.shape[:2])
            for t in range(x.shape[1]):
                run[:, t] = np.where(x[:, t, 0] == 1, (run[:, t - 1] if t else 0) + 1, 0)
            return ((np.cumsum(x[:, :, 0], 1) % 2 + (run >= 14)) % 2)[..., None]

    found = certify(PARITY, reference=Given(), domains=(BITS,), length=6, integer_outputs=True)
    assert found.verdict == "failed"
    assert found.counterexample == ((1.0,),) * 14
    assert counterexample(PARITY, PARITY, (BITS,), 6, 0) is None
