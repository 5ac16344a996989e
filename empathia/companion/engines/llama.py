"""llama.cpp in this process, through the `xllamacpp` wheel: any GGUF file, on the CPU.

Same seed, same reply. llama.cpp's sums come out in another order, and so with other last bits, when flash attention is
on or when the sequences of a batch share one cache; two replies then part ways at some token. So each slot here has
its own cache and flash attention is off. With weights of 4 or 8 bits a reply then does not depend on what the cache
already held, on its neighbours in the batch or on the number of threads (measured on short replies; over whole replies
of the merged model, with other conversations in the batch, one in three still parted ways). The price is a third more
time for a prompt that is read for the first time.

Threads: this build of llama.cpp waits at OpenMP's barriers, where libgomp spins for milliseconds before it sleeps. With
another process on the machine the thread that is waited for may not be running, and all that spinning is lost: four
candidates took nine times as long as they should. A short spin keeps both: full speed on an idle machine, and about a
fair share of a busy one. libgomp reads its setting once, when it is loaded.
"""

from __future__ import annotations

import hashlib
import os
import tempfile
from collections.abc import Iterator
from pathlib import Path
from threading import Lock
from types import ModuleType
from typing import Any

from ...core.errors import BadFile, BadInput
from ...core.machine import cores
from ...core.types import Stop
from .contract import CONTEXT, EngineFailed, Generated, Prompt, PromptTooLong, Sampling, is_set
from .pieces import Hear, Stopped, pieces

#: Turns of libgomp's waiting loop before a thread sleeps; some microseconds.
_SPIN = "1000"
#: Tokens of a prompt that are read at a time; between two such pieces the engine can be stopped.
_PIECE = 128
#: More threads than this wait for each other longer than they compute, in a model this small.
_MOST_THREADS = 4


class Llama:
    """One GGUF model, loaded. Calls from several threads are batched by llama.cpp, each in slots of its own."""

    def __init__(
        self,
        path: Path,
        tuned: bool = False,
        threads: int | None = None,
        context: int = CONTEXT,
        slots: int = 4,
        log: bool = False,
    ) -> None:
        """`slots` sequences are drawn at a time, each with `context` tokens of cache (23 kB a token in the default
        model); more candidates come in rounds. `log` lets llama.cpp write to standard error."""
        self.name, self.tuned, self.context = path.stem, tuned, context
        self.signature = f"{path.stem}|{_fingerprint(path)}"
        self._slots, self._one = slots, Lock()
        self._folder = tempfile.TemporaryDirectory(prefix="empathia-")
        self._socket = str(Path(self._folder.name) / "llama.sock")
        llama = _load_library()
        given = llama.CommonParams()
        given.model.path = str(path)
        given.n_ctx, given.n_parallel, given.kv_unified = context * slots, slots, False
        given.flash_attn_type = llama.llama_flash_attn_type.LLAMA_FLASH_ATTN_TYPE_DISABLED
        given.n_batch = given.n_ubatch = _PIECE
        for cpu in (given.cpuparams, given.cpuparams_batch):
            cpu.n_threads, cpu.poll = threads or min(_MOST_THREADS, cores()), 0
        given.verbosity = 3 if log else -1
        given.warmup = given.fit_params = given.ui = given.endpoint_slots = False
        given.endpoint_metrics = True
        given.cache_ram_mib, given.n_threads_http = 0, 1
        given.hostnames = [self._socket]  # the library insists on serving; so to nobody but us
        try:
            self._server: Any = llama.Server(given)
        except RuntimeError as error:
            self._folder.cleanup()
            raise BadFile(
                path, "llama.cpp cannot load this model", hint="the file is damaged, or of a kind it does not know"
            ) from error
        self._server.handle_metrics()  # answered by its loop, which therefore runs: closed before that, it would hang

    def generate(self, prompt: Prompt, sampling: Sampling, stop: Stop | None = None) -> Iterator[str | Generated]:
        def work(hear: Hear, stopped: Stopped) -> list[Generated]:
            return self._draw(prompt, 1, sampling, sampling.seed, stopped, hear)

        return pieces(work, stop)

    def candidates(self, prompt: Prompt, n: int, sampling: Sampling, stop: Stop | None = None) -> list[Generated]:
        if n < 1:
            raise BadInput(f"cannot draw {n} candidates", "ask for 1 or more")
        found: list[Generated] = []
        for first in range(0, n, self._slots):
            together = min(self._slots, n - first)
            drawn = self._draw(prompt, together, sampling, sampling.seed + first, lambda: is_set(stop))
            if not drawn:
                return []
            found += drawn
        return found

    def count(self, prompt: Prompt) -> int:
        if not isinstance(prompt, str):
            prompt = self._ask("/apply-template", {"messages": _messages(prompt)})["prompt"]
        told = self._ask("/tokenize", {"content": prompt, "add_special": True, "parse_special": True})
        return len(told["tokens"])

    def close(self) -> None:
        with self._one:
            self._server = None  # the last call that still runs lets go of it
            self._folder.cleanup()

    def _draw(
        self,
        prompt: Prompt,
        n: int,
        sampling: Sampling,
        seed: int,
        stopped: Stopped,
        hear: Hear | None = None,
    ) -> list[Generated]:
        """`n` continuations in one batch, all or, once `stopped`, none; `hear` gets the pieces as they come."""
        server = self._running()
        if not prompt:
            raise BadInput("the prompt is empty", "say something first")
        drafts = [_Draft() for _ in range(n)]
        wrong: list[BaseException] = []

        def listen(event: Any) -> bool:
            """Called with each event of the server; True ends it."""
            try:
                if stopped():
                    return True
                if "error" in event:
                    raise _failure(event["error"])
                for choice in event["choices"]:
                    piece = drafts[choice["index"]].add(choice)
                    if piece and hear is not None:
                        hear(piece)
            except BaseException as error:
                wrong.append(error)
                return True
            return False

        request = {**_request(sampling), "seed": seed, "n": n}
        if isinstance(prompt, str):
            server.handle_completions({**request, "prompt": prompt, "logprobs": 1}, listen)
        else:
            plain = {"messages": _messages(prompt), "chat_template_kwargs": {"enable_thinking": False}}
            server.handle_chat_completions({**request, **plain, "logprobs": True, "top_logprobs": 1}, listen)
        if wrong:
            raise wrong[0]
        done = all(draft.finish is not None for draft in drafts)
        return [draft.whole() for draft in drafts] if done else []

    def _ask(self, route: str, body: dict[str, Any]) -> dict[str, Any]:
        import httpx

        self._running()
        with httpx.Client(transport=httpx.HTTPTransport(uds=self._socket), base_url="http://llama") as client:
            answer = client.post(route, json=body, timeout=60).json()
        if "error" in answer:
            raise _failure(answer["error"])
        return dict(answer)

    def _running(self) -> Any:
        server = self._server
        if server is None:
            raise EngineFailed("this engine is closed", "open another")
        return server


class _Draft:
    """One continuation as it grows."""

    def __init__(self) -> None:
        self.text, self.tokens, self.log_probability = "", 0, 0.0
        self.finish: str | None = None

    def add(self, choice: dict[str, Any]) -> str:
        piece = choice["text"] if "text" in choice else choice.get("delta", {}).get("content") or ""
        for token in (choice.get("logprobs") or {}).get("content") or ():
            self.tokens += 1
            self.log_probability += token["logprob"]
        self.text += piece
        self.finish = choice["finish_reason"] or self.finish
        return piece

    def whole(self) -> Generated:
        return Generated(self.text, self.tokens, self.log_probability, ended=self.finish == "stop")


def _request(sampling: Sampling) -> dict[str, Any]:
    return {
        "samplers": ["penalties", "temperature", "top_k", "top_p", "min_p"],
        "temperature": sampling.temperature,
        "top_k": sampling.top_k,
        "top_p": sampling.top_p,
        "min_p": sampling.min_p,
        "repeat_penalty": sampling.repeat_penalty,
        "repeat_last_n": 64,
        "max_tokens": sampling.max_tokens,
        "stop": list(sampling.stop),
        "cache_prompt": True,
        "stream": True,
        "return_progress": True,  # an event after each piece of the prompt: a chance to stop
    }


def _messages(prompt: Prompt) -> list[dict[str, str]]:
    return [{"role": m.role, "content": m.content} for m in prompt if not isinstance(m, str)]


def _failure(error: dict[str, Any]) -> Exception:
    if error.get("type") == "exceed_context_size_error":
        return PromptTooLong(error["n_prompt_tokens"], error["n_ctx"])
    return EngineFailed(f"llama.cpp refused: {error.get('message', error)}")


def _load_library() -> ModuleType:
    """`xllamacpp`, with a short spin unless the user has chosen otherwise."""
    ours = "GOMP_SPINCOUNT" not in os.environ and "OMP_WAIT_POLICY" not in os.environ
    if ours:
        os.environ["GOMP_SPINCOUNT"] = _SPIN
    try:
        import xllamacpp
    except ImportError as error:
        raise EngineFailed(
            f"llama.cpp cannot be loaded: {error}", "pip install xllamacpp; on a bare Linux also libgomp1"
        ) from error
    finally:
        if ours:
            del os.environ["GOMP_SPINCOUNT"]
    return xllamacpp  # type: ignore[no-any-return]


def _fingerprint(path: Path) -> str:
    """Of a model file's size, head and tail: enough to tell models apart, and quick for large ones."""
    edge = 1 << 20
    with path.open("rb") as file:
        told = hashlib.sha256(file.read(edge))
        size = file.seek(0, os.SEEK_END)
        file.seek(max(0, size - edge))
        told.update(file.read(edge) + str(size).encode())
    return told.hexdigest()[:12]
