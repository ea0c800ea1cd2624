"""Domains: what a column may hold."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from weights2code.language import BITS, Domain, infer, integers, reals


@pytest.mark.parametrize(
    ("values", "domain"),
    [
        ([0, 1, 1], BITS),
        ([0.0, 0.0], BITS),
        ([-1, 1], integers(-1, 1)),
        ([0, 2], integers(0, 2)),
        ([0.5, 1], reals(0.5, 1)),
        ([0, 2**53], integers(0, 2**53)),
        ([0, 2.0**54], reals(0, 2**54)),  # there every float64 is whole
    ],
)
def test_the_narrowest_domain_is_inferred(values, domain):
    assert infer(np.array(values)) == domain


@pytest.mark.slow
@given(st.integers(-50, 50), st.integers(0, 50))
def test_discrete_domains_list_their_values(low, width):
    domain = integers(low, low + width)
    assert domain.values().tolist() == list(range(low, low + width + 1))
    assert domain.size == len(domain.values())
    assert infer(domain.values()) in (domain, BITS)


def test_reals_have_no_list():
    assert not reals(0, 1).discrete
    with pytest.raises(ValueError, match="reals"):
        reals(0, 1).values()


def test_domains_read_well():
    assert [str(domain) for domain in (BITS, integers(-3, 4), reals(0, 2.5))] == [
        "bits",
        "integers -3..4",
        "reals 0..2.5",
    ]


@pytest.mark.parametrize("domain", [BITS, integers(-3, 5), reals(0.5, 2.0), reals(1.0, 1.0)])
def test_json_form_and_back(domain):
    assert Domain.from_dict(domain.to_dict()) == domain


@pytest.mark.parametrize(
    "change",
    [
        {"kind": "complex"},
        {"kind": ["reals"]},
        {"low": 7},
        {"low": 0.5},
        {"low": "0"},
        {"low": None},
        {"high": float("inf")},
        {"high": True},
        {"kind": "bits"},
    ],
)
def test_what_is_no_domain_is_refused(change):
    with pytest.raises((ValueError, TypeError)):
        Domain.from_dict(integers(0, 5).to_dict() | change)
