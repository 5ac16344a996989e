"""A trained run that answers: text in, text out, with what the model thought of the speaker's feeling."""

from __future__ import annotations

import time
from collections.abc import Callable, Sequence
from dataclasses import replace

import torch

from ..core.types import Candidate, Context, Evidence, Reply, Wish
from ..decoding.contract import Decoding, Hypothesis, Specials
from ..decoding.search import candidates
from ..nn.blocks import POSITIONS
from ..text.batches import Inputs, collate_seen, padded
from .run import Run

#: contexts → what is known of each; perception, knowledge and exemplars behind one call
Find = Callable[[Sequence[Context]], Sequence[Evidence]]


class RunResponder:
    """A `Responder` over a trained run. `decoding` is the default search; a wish may change it per reply. `find` is
    asked for evidence where the model reads any and the caller has none; without it the words must do."""

    def __init__(self, run: Run, decoding: Decoding | None = None, find: Find | None = None) -> None:
        self.find = find if run.model.needs(run.model.config) else None
        self.run, self.name = run, run.name
        self.decoding = decoding or Decoding(method="beam", beam=5, keep=5, block_ngrams=3, length_penalty=1.0)
        self.encoder = run.recipe.encoder(run.vocabulary)
        self.specials = Specials.of(run.vocabulary)

    def reply(self, context: Context, wish: Wish | None = None) -> Reply:
        return self.replies([context], wish)[0]

    def replies(
        self,
        contexts: Sequence[Context],
        wish: Wish | None = None,
        places: Sequence[int] | None = None,
        evidence: Sequence[Evidence] | None = None,
    ) -> list[Reply]:
        """Answers to a batch of contexts, each as if it were alone.

        Latent variables are drawn when the wish says stochastic, else taken at their means. What is drawn
        for a context depends on the seed and on its place in the corpus (by default, in the batch).
        """
        wish = wish or Wish()
        started = time.perf_counter()
        encoded = [self.encoder.context(context) for context in contexts]
        if evidence is None:
            evidence = self.find(contexts) if self.find else [Evidence()] * len(contexts)
        found_at = time.perf_counter()
        seen = [self.encoder.seen(c, e, wish) for c, e in zip(contexts, evidence, strict=True)]
        places = range(len(contexts)) if places is None else places
        seed = wish.seed if wish.seed is not None else self.decoding.seed
        seeds = tuple((1_000_003 * seed + place) % 2**63 for place in places) if wish.stochastic else None
        words, speakers = (padded(ids) for ids in zip(*encoded, strict=True))
        inputs = Inputs(words, speakers, seeds, collate_seen(seen))
        with torch.inference_mode():
            memory = self.run.model.encode(inputs)
        encoded_at = time.perf_counter()
        found = candidates(self.run.model, memory, self.specials, self._decoding(wish), places)
        timings = {"encode": encoded_at - found_at, "decode": time.perf_counter() - encoded_at}
        if self.find:
            timings = {"find": found_at - started, **timings}
        known = [one.with_(**self.run.model.told(memory, i)) for i, one in enumerate(evidence)]
        return [self._reply(found[i], known[i], timings) for i in range(len(contexts))]

    def _decoding(self, wish: Wish) -> Decoding:
        own = self.decoding
        length = own.max_length if wish.length is None else max(wish.length, own.min_length, 1)
        return replace(own, seed=own.seed if wish.seed is None else wish.seed, max_length=min(length, POSITIONS))

    def _reply(self, found: list[Hypothesis], evidence: Evidence, timings: dict[str, float]) -> Reply:
        texts = [self.run.vocabulary.decode(h.tokens) for h in found]
        chosen = tuple(Candidate(t, {"log_probability": h.score}) for t, h in zip(texts, found, strict=True))
        return Reply(texts[0], evidence, chosen, timings)
