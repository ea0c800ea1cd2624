"""Rules of reals in several steps: their first step and their last, seen from neighbouring rows."""
