"""empathia: software that listens and answers with empathy.

Importing this package loads no model and no torch; every heavy part is imported where it is used.

    import empathia
    print(empathia.Companion().reply("I lost my job today.").text)
"""

from typing import Any

__version__ = "0.1.0"


def __getattr__(name: str) -> Any:
    if name == "Companion":
        from .companion import Companion

        return Companion
    raise AttributeError(f"module 'empathia' has no attribute '{name}'")
