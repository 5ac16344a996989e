"""What the searches ask of a model, how a search is set, and what it gives back. No torch at import."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Literal, Protocol

from ..core.errors import BadConfig, nearest

if TYPE_CHECKING:
    from torch import Tensor


class Memory(Protocol):
    """A batch of encoded contexts."""

    def __len__(self) -> int: ...

    def select(self, rows: Tensor) -> Memory:
        """The contexts at `rows`, which may repeat."""


class Cache(Protocol):
    """What a decoder remembers of the words it has read, row by row."""

    @property
    def length(self) -> int: ...

    def select(self, rows: Tensor) -> None:
        """Keep the given rows, in place and in this order; a row may repeat."""


class Decodable(Protocol):
    def start_cache(self) -> Any: ...

    def step(self, memory: Any, prefix_BT: Tensor, cache: Any) -> Tensor:
        """logits_BTV, the caller's to overwrite. Without a cache, a pass over the whole prefix; with one, `prefix_BT`
        holds the new words only."""


@dataclass(frozen=True, slots=True)
class Specials:
    """Ids that are not words. `others` are marks a reply never holds (speaker, listener, context)."""

    pad: int
    start: int
    end: int
    unk: int
    others: tuple[int, ...] = ()

    @classmethod
    def of(cls, codec: Any) -> Specials:
        """The special ids of a vocabulary or a BPE."""
        return cls(codec.pad, codec.start, codec.end, codec.unk, (codec.speaker, codec.listener, codec.context))


NEVER: tuple[str, ...] = ("pad", "start", "unk", "others")


@dataclass(frozen=True, slots=True)
class Decoding:
    """How to search. Lengths count every step, the end mark's too; a score is Σ log p / length**length_penalty.

    stop (beam search only):
      bound   a sample is done when no live beam can still beat its worst kept hypothesis;
      shrink  a finished hypothesis gives up its place, so a beam of 5 ends with its fifth (MEED2);
      top     done when the best beam's newest word is the end mark; others run on past theirs (MIME, MoEL, CEM).
    """

    method: Literal["greedy", "beam", "sample"] = "greedy"
    beam: int = 5
    keep: int = 1  # hypotheses per sample: of a beam the best, of sampling so many draws
    top_k: int = 0  # 0: all words
    top_p: float = 1.0  # applied after top_k, to what it left
    temperature: float = 1.0
    max_length: int = 50
    min_length: int = 0  # words before the end mark may come
    block_ngrams: int = 0  # no n-gram of this size twice in a reply; 0: off
    length_penalty: float = 0.0
    stop: Literal["bound", "shrink", "top"] = "bound"
    seed: int = 0
    banned: tuple[str, ...] = NEVER  # names of special marks
    banned_ids: tuple[int, ...] = ()

    def __post_init__(self) -> None:
        _one_of("method", self.method, ("greedy", "beam", "sample"))
        _one_of("stop", self.stop, ("bound", "shrink", "top"))
        for name in self.banned:
            _one_of("banned", name, NEVER)
        most = {"greedy": 1, "beam": self.beam}.get(self.method, self.keep)
        checks = {
            "beam must be at least 1": self.beam >= 1,
            f"keep must be from 1 to {most} with method '{self.method}'": 1 <= self.keep <= most,
            "top_k must not be negative": self.top_k >= 0,
            "top_p must be above 0 and at most 1": 0 < self.top_p <= 1,
            "temperature must be above 0 (for the likeliest word, take method 'greedy')": self.temperature > 0,
            "max_length must be at least 1": self.max_length >= 1,
            "min_length must be from 0 to max_length": 0 <= self.min_length <= self.max_length,
            "block_ngrams must not be negative": self.block_ngrams >= 0,
            "length_penalty must not be negative": self.length_penalty >= 0,
            "banned_ids must not be negative": min(self.banned_ids, default=0) >= 0,
        }
        for problem, holds in checks.items():
            if not holds:
                raise BadConfig(f"decoding: {problem}")

    def forbidden(self, specials: Specials) -> list[int]:
        """The ids no reply may hold."""
        ids = {*self.banned_ids}
        for name in self.banned:
            ids.update(specials.others if name == "others" else (getattr(specials, name),))
        if specials.end in ids:
            raise BadConfig("decoding: the end mark cannot be banned", "raise min_length instead")
        return sorted(ids)

    def score(self, logprobs: tuple[float, ...]) -> float:
        return float(sum(logprobs) / max(len(logprobs), 1) ** self.length_penalty)

    def __str__(self) -> str:
        """A signature's part: the method and whatever differs from its plain form."""
        parts = [f"beam{self.beam}" if self.method == "beam" else self.method]
        if self.method == "sample":
            parts += [f"k{self.top_k}"] if self.top_k else []
            parts += [f"p{self.top_p:g}"] if self.top_p < 1 else []
            parts += [f"t{self.temperature:g}"] if self.temperature != 1 else []
            parts += [f"seed{self.seed}"]
        if self.method == "beam":
            parts += [f"alpha{self.length_penalty:g}"] if self.length_penalty else []
            parts += [self.stop] if self.stop != "bound" else []
        parts += [f"block{self.block_ngrams}"] if self.block_ngrams else []
        parts += [f"min{self.min_length}"] if self.min_length else []
        return "-".join([*parts, f"max{self.max_length}"])


@dataclass(frozen=True, slots=True)
class Hypothesis:
    """One reply: its words without start and end, and the model's own log-probability of each step."""

    tokens: tuple[int, ...]
    score: float
    logprobs: tuple[float, ...]

    @property
    def finished(self) -> bool:
        """Whether the end mark came; otherwise the reply was cut at `max_length`."""
        return len(self.logprobs) > len(self.tokens)


def _one_of(key: str, value: str, known: tuple[str, ...]) -> None:
    if value not in known:
        raise BadConfig(f"decoding: {key} cannot be '{value}'", nearest(value, known))
