"""One engine: a table, a bank of quantities, readings, sums, pieces, reductions, one best-first agenda."""
