"""From a composite problem to its solution: which policies, which form of x, and what the answer is."""
