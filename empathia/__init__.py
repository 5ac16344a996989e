"""empathia: software that listens and answers with empathy.

Importing this package loads no model and no torch; every heavy part is imported where it is used.
"""

__version__ = "0.1.0"
