"""Every context that a program can bring about, and the network on each of them."""
