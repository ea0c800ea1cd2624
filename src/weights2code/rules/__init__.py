"""From a graph whose heads are understood to recurrences: leaves, formulas of them, start values."""
