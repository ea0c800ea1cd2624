"""What is known about a program: tests, proposals for the kernel, and the certificate."""

from weights2code.verify.certificate import Agreement, Certificate, Verdict
from weights2code.verify.certify import certify
from weights2code.verify.own_data import certify_on_data
from weights2code.verify.testing import compare, run_tests

__all__ = ["Agreement", "Certificate", "Verdict", "certify", "certify_on_data", "compare", "run_tests"]
