"""What is known about a program: tests, enumeration, exploration, induction, and their certificate."""

from weights2code.verify.certificate import Agreement, Certificate, Verdict
from weights2code.verify.certify import certify
from weights2code.verify.exploration import Exploration, explore
from weights2code.verify.held_out import certify_on_data
from weights2code.verify.induction import Induction, prove_by_induction
from weights2code.verify.product import Product, product
from weights2code.verify.testing import compare, run_tests

__all__ = [
    "Agreement",
    "Certificate",
    "Exploration",
    "Induction",
    "Product",
    "Verdict",
    "certify",
    "certify_on_data",
    "compare",
    "explore",
    "product",
    "prove_by_induction",
    "run_tests",
]
