"""Ready-made problems: data -> composite problem, metrics while it runs, rounding at the end."""
