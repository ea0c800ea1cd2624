"""Network and program side by side: how far they differ, and up to where they are equal."""
