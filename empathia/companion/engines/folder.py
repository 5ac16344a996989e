"""Any folder that `transformers` saved, run with torch (extra `train`).

A simple loop over the model's own cache: the prompt is read once, its cache repeated for every candidate, and all
candidates take their next token together. Candidate i draws from its own generator, seeded with `seed + i`.
"""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from threading import Lock
from typing import TYPE_CHECKING, Any

from ...core.errors import BadFile, BadInput
from ...core.types import Stop
from .contract import CONTEXT, EngineFailed, Generated, Prompt, PromptTooLong, Sampling, is_set

if TYPE_CHECKING:
    from torch import Generator, Tensor


class Folder:
    """A causal language model of `transformers`. One call at a time; others wait."""

    def __init__(self, path: Path, tuned: bool = False, context: int = CONTEXT, device: str = "cpu") -> None:
        try:
            import torch
            from transformers import AutoModelForCausalLM, AutoTokenizer
        except ImportError as error:
            raise EngineFailed(
                "a transformers folder needs torch and transformers", "pip install 'empathia[train]'"
            ) from error
        try:
            self._tokenizer: Any = AutoTokenizer.from_pretrained(path)
            model: Any = AutoModelForCausalLM.from_pretrained(path, dtype="auto")
            self._model: Any = model.to(device).eval()
        except (OSError, ValueError, KeyError, RuntimeError) as error:
            said = str(error).strip().splitlines()[0]
            raise BadFile(path, f"transformers cannot load this folder: {said}", hint="save it again") from error
        most = getattr(self._model.config, "max_position_embeddings", context)
        self.name, self.tuned, self.context = path.resolve().name, tuned, min(context, most)
        self.signature = f"{self.name}|{sum(p.numel() for p in self._model.parameters())}|transformers"
        ends = self._model.generation_config.eos_token_id
        self._ends = {self._tokenizer.eos_token_id, *([ends] if isinstance(ends, int) else ends or ())}
        self._one, self._torch = Lock(), torch

    def generate(self, prompt: Prompt, sampling: Sampling, stop: Stop | None = None) -> Iterator[str | Generated]:
        sent = ""
        for [draft] in self._steps(prompt, 1, sampling, stop):
            ready = draft.ready
            if len(ready) > len(sent):
                yield ready[len(sent) :]
                sent = ready
            if draft.ended is not None:
                yield draft.whole()

    def candidates(self, prompt: Prompt, n: int, sampling: Sampling, stop: Stop | None = None) -> list[Generated]:
        if n < 1:
            raise BadInput(f"cannot draw {n} candidates", "ask for 1 or more")
        drafts: list[_Draft] = []
        for drafts in self._steps(prompt, n, sampling, stop):  # noqa: B007
            pass
        return [draft.whole() for draft in drafts] if all(d.ended is not None for d in drafts) else []

    def count(self, prompt: Prompt) -> int:
        return len(self._ids(prompt))

    def close(self) -> None:
        with self._one:
            self._model = None

    def _ids(self, prompt: Prompt) -> list[int]:
        if isinstance(prompt, str):
            return list(self._tokenizer(prompt)["input_ids"])
        if self._tokenizer.chat_template is None:
            raise EngineFailed(f"{self.name} has no chat template", "use a model tuned to chat")
        messages = [{"role": m.role, "content": m.content} for m in prompt]
        text = self._tokenizer.apply_chat_template(messages, tokenize=False, add_generation_prompt=True)
        return list(self._tokenizer(text, add_special_tokens=False)["input_ids"])

    def _steps(self, prompt: Prompt, n: int, sampling: Sampling, stop: Stop | None) -> Iterator[list[_Draft]]:
        """The drafts after each token, until all have ended or `stop` is set."""
        torch = self._torch
        if not prompt:
            raise BadInput("the prompt is empty", "say something first")
        ids = self._ids(prompt)
        room = self.context - len(ids)
        if room < 1:
            raise PromptTooLong(len(ids), self.context)
        with self._one, torch.inference_mode():
            if self._model is None:
                raise EngineFailed("this engine is closed", "open another")
            device = self._model.device
            drafts = [_Draft(self._tokenizer, sampling.stop, list(ids)) for _ in range(n)]
            generators = [torch.Generator("cpu").manual_seed(sampling.seed + i) for i in range(n)]
            read = self._model(torch.tensor([ids], device=device), use_cache=True)
            cache, logits = read.past_key_values, read.logits[:, -1].float().expand(n, -1)
            if n > 1:
                cache.batch_repeat_interleave(n)
            for left in range(min(room, sampling.max_tokens), 0, -1):
                if is_set(stop):
                    return
                chosen = [
                    draft.add(row, self._pick(row, draft.seen, sampling, generator), self._ends, last=left == 1)
                    for draft, row, generator in zip(drafts, logits.cpu(), generators, strict=True)
                ]
                yield drafts
                if all(draft.ended is not None for draft in drafts):
                    return
                read = self._model(torch.tensor(chosen, device=device)[:, None], past_key_values=cache, use_cache=True)
                cache, logits = read.past_key_values, read.logits[:, -1].float()

    def _pick(self, logits: Tensor, seen: list[int], sampling: Sampling, generator: Generator) -> int:
        """The next token, by penalty, temperature, top_k, top_p and min_p in this order."""
        torch = self._torch
        logits = logits.clone()
        if sampling.repeat_penalty != 1:
            recent = torch.tensor(sorted(set(seen[-64:])))
            scores = logits[recent]
            logits[recent] = torch.where(scores > 0, scores / sampling.repeat_penalty, scores * sampling.repeat_penalty)
        if sampling.temperature == 0:
            return int(logits.argmax())
        ordered, tokens = (logits / sampling.temperature).softmax(-1).sort(descending=True)
        keep = torch.ones_like(ordered, dtype=torch.bool)
        if sampling.top_k:
            keep[sampling.top_k :] = False
        keep &= ordered.cumsum(-1) - ordered < sampling.top_p
        keep &= ordered >= sampling.min_p * ordered[0]
        return int(tokens[torch.multinomial(ordered * keep, 1, generator=generator)])


class _Draft:
    """One continuation as it grows: its tokens, and the text that is certain."""

    def __init__(self, tokenizer: Any, stops: tuple[str, ...], prompt: list[int]) -> None:
        self._tokenizer, self._stops = tokenizer, stops
        self.seen, self._start = prompt, len(prompt)
        self.text, self.log_probability = "", 0.0
        self.ended: bool | None = None  # not yet; else whether by itself

    def add(self, logits: Tensor, token: int, ends: set[int], last: bool) -> int:
        """Take a token, unless ended already; gives a token for the batch to go on with."""
        if self.ended is None:
            self.seen.append(token)
            self.log_probability += float(logits.log_softmax(-1)[token])
            if token in ends:
                self.ended = True
            else:
                self.text = self._tokenizer.decode(self.seen[self._start :], skip_special_tokens=True)
                places = [place for stop in self._stops if (place := self.text.find(stop)) >= 0]
                if places:
                    self.text, self.ended = self.text[: min(places)], True
                elif last:
                    self.ended = False
        return token

    @property
    def ready(self) -> str:
        """The text without what may still change: half a character, or the beginning of a stop string."""
        if self.ended is not None:
            return self.text
        text = self.text.rstrip("\ufffd")
        for stop in self._stops:
            for size in range(min(len(stop) - 1, len(text)), 0, -1):
                if text.endswith(stop[:size]):
                    text = text[:-size]
                    break
        return text

    def whole(self) -> Generated:
        return Generated(self.text, len(self.seen) - self._start, self.log_probability, ended=bool(self.ended))
