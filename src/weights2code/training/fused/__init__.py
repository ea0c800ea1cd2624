"""A training step of the paper's architecture as a few dozen fused kernels, for a GPU with Triton."""
