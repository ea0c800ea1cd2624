"""One engine: a table, a bank of quantities, readings, sums, pieces, reductions, and one best-first agenda."""
