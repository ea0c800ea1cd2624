"""How far network and program are apart at most, over all values that both may read."""
