"""What values can be: sets of values, whole numbers, bits."""

from weights2code.language import BITS, Recurrence, Retrieval, Step, Var, integers, op, reals
from weights2code.language.kinds import kinds_of

x, y1 = Var("x"), Var("y", 1)


def kinds(definition, domain=BITS, start=None):
    return kinds_of(Recurrence(("x",), (Step("y", definition),), ("y",), start or {}), (domain,))


def test_a_closed_set_is_found():
    found = kinds((x + y1) % 3, integers(0, 2))
    assert found.values["y"] == (0, 1, 2)
    assert found.integers == {"x", "y"}


def test_parity_stays_a_bit():
    assert kinds(x + y1 - 2 * x * y1).is_bit(Var("y", 1))


def test_start_values_count():
    assert kinds(1 - y1, start={"y": 5.0}).values["y"] == (-4, 5)


def test_a_counter_has_no_bound_but_is_whole():
    found = kinds(x + y1)
    assert "y" not in found.values
    assert found.is_integer(y1 * 2 + x)
    assert not found.is_bit(y1)


def test_halves_are_not_whole():
    assert not kinds(y1 / 2 + x).is_integer(y1)
    assert not kinds(x + y1, start={"y": 0.5}).is_integer(y1)
    assert not kinds(x + y1, reals(0, 1)).is_integer(y1)


def test_rounding_makes_whole():
    found = kinds(op("floor", x / 2), reals(0, 9))
    assert found.is_integer(y1)
    assert not found.is_integer(x)
    assert found.is_integer(y1**2)
    assert not found.is_integer(op("pow", y1, -1))


def test_undefined_values_are_given_up():
    assert "y" not in kinds(op("log", x - 1)).values


def test_retrieval_gives_values_or_the_default():
    recurrence = Recurrence(("k", "v"), (Step("y", Retrieval("k", "v", Var("k"), default=-1.0)),), ("y",))
    assert kinds_of(recurrence, (BITS, integers(2, 3))).values["y"] == (-1, 2, 3)


def test_bits_of_expressions():
    found = kinds(x)
    for bit in (x * y1, op("min", x, y1), op("where", x, 1, 0), op("mod", x + 3, 2), op("gt", x, 7)):
        assert found.is_bit(bit)
    assert not found.is_bit(x + y1)
