"""Stages that look for different rules on different rows: extrema, branches, regions, special values."""
