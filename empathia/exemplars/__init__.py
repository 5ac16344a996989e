"""How good listeners answered before: a bi-encoder, banks of context and reply, and their index (LEMPEx).

    from empathia.exemplars import recall
    recall().exemplars(context, emotion_probabilities, k=3)

`pairs.py` reads banks, `encoder.py` gives vectors without torch, `index.py` keeps and searches them, `recall.py`
weighs what is found, `responder.py` answers with it. `tower.py`, `training.py` and `export.py` make the encoder.
"""

from .pairs import Bank, Pair
from .recall import Recall, recall
from .responder import RetrievalResponder

__all__ = ["Bank", "Pair", "Recall", "RetrievalResponder", "recall"]
