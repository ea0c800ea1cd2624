"""Is the network equal to its program? The link between the weights and the text."""
