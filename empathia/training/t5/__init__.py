"""T5-PT, the baseline of LEMPEx: a pretrained T5 (Raffel et al. 2020), fine-tuned by the loop of every other system."""
