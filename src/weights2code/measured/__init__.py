"""Data that were measured, not specified: noise, mistakes, and sequences that are cut from a long one."""
