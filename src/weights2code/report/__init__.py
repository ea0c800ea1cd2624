"""The report: a page that shows the program, what it rests on, and how the model computes it."""

from weights2code.report.contents import gather
from weights2code.report.page import fragment
from weights2code.report.report import leave_report, write_plots, write_report

__all__ = ["fragment", "gather", "leave_report", "write_plots", "write_report"]
