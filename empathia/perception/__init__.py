"""What the speaker feels and why, and what a reply does: text to labels, without torch."""

from .perception import Perception, load

__all__ = ["Perception", "load"]
