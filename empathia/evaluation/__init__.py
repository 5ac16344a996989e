"""Metrics with signatures, significance, reports, plots, and the board of recorded figures.

Every number leaves this room as a `core.types.Score`, which carries its conditions. Imports `core` and,
for the one tokenisation all texts are scored under, `text.tokenize`; models reach it only as data
(replies, negative log-likelihoods, probabilities) and the sentence encoder only as a callable.
"""
