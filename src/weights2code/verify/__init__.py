"""What is known about a program: tests, enumeration, exploration, induction, and their certificate."""

from weights2code.verify.certificate import Agreement, Certificate, Verdict
from weights2code.verify.certify import certify, certify_on_data
from weights2code.verify.exploration import Exploration, explore
from weights2code.verify.product import Product, product
from weights2code.verify.testing import compare, run_tests

__all__ = [
    "Agreement",
    "Certificate",
    "Exploration",
    "Product",
    "Verdict",
    "certify",
    "certify_on_data",
    "compare",
    "explore",
    "product",
    "run_tests",
]
