"""Training: recipes, the loop, checkpoints that resume exactly, and trained runs that answer."""
