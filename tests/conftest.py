"""Shared by every test: property tests draw the same examples each time and are never judged by a clock."""

from hypothesis import settings

settings.register_profile("repeatable", derandomize=True, deadline=None, database=None)
settings.load_profile("repeatable")
