"""`python -m empathia`, for torchrun."""

from .cli import main

main()
