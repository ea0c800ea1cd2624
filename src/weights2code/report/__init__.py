"""The report: a page that shows the program, what it rests on, and how the model computes it."""

from weights2code.report.report import fragment, write_plots, write_report

__all__ = ["fragment", "write_plots", "write_report"]
