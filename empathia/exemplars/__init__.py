"""How good listeners answered before: a bi-encoder, banks of context and reply, and their index (LEMPEx)."""
