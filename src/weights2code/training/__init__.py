"""Training: recipes, the batched ensemble loop, discrete polishing, the ladder of architectures."""
