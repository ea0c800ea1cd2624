"""From a trained rung to a certified program."""
