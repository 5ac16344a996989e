"""The parts every model is built from, each written once.

Shape suffixes, here and in `models/`: B rows of a batch, S context positions, T reply positions, D width,
H heads, K depth of one head, V vocabulary, E emotions, N reply tokens of a batch laid end to end.
"""
