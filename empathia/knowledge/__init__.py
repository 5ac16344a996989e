"""What is commonly known about an event: why people do it, what they feel, want and do then.

    from empathia.knowledge import infer, store

    infer(store(), "I lost my job today.")   # Inference("xReact", "sad", 0.43), …

One seam, `Inferrer`, and behind it the tuples of ATOMIC and ConceptNet (`store`), our own small COMET, or the
published one (`comet`). An utterance becomes events first (`events`); one without any has no inferences.
"""

from .inferrer import Inferrer, evidence, infer, infer_all
from .relations import RELATIONS
from .store import Store, store

__all__ = ["RELATIONS", "Inferrer", "Store", "evidence", "infer", "infer_all", "store"]
