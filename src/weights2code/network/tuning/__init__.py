"""Networks that are right: trained on with the program's outputs, or wired for its rule."""
