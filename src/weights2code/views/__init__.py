"""What a rule reads: features, views of a few of them, and who proposes which."""
