"""Regression up to a gauge: what an intermediate variable means, whatever numbers stand for it."""

from weights2code.symbolic.gauge.judge import Form
from weights2code.symbolic.gauge.search import forms

__all__ = ["Form", "forms"]
