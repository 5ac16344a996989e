"""The responder people meet first: perceive, recall, plan, generate, choose, on a pretrained language model."""

from .companion import Companion, Settings

__all__ = ["Companion", "Settings"]
