"""Choosing words from a model's scores: greedy, beam, top-k and nucleus search, cached and batched.

`contract.py` says what a model must offer, `search.py` has the one entry, `decode`.
"""
