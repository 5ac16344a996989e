"""The mechanisms of the reply to come, from the context alone (IMAGINE's predictor).

The trained mechanisms encoder says what gold training replies of EmpatheticDialogues do; on the frozen states of the
feeling encoder, pooled as its `reply` head pools them, one softmax regression per mechanism learns to foresee it.
Targets are probabilities, not levels, so that a doubtful reply teaches doubt.
"""

from __future__ import annotations

import random
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np
from numpy.typing import NDArray
from safetensors.numpy import load_file
from safetensors.numpy import save as serialised
from scipy.optimize import minimize
from scipy.special import logsumexp

from ...core.files import atomic
from ...core.taxonomy import MECHANISMS
from ...core.types import Context
from ...corpora import load
from ..encoder import pooled, where
from ..perception import Perception

Array = NDArray[np.float64]

#: contexts to learn from and to choose the penalty on, and the penalties
CONTEXTS, CHECKED, SEED = 6_000, 1_000, 1
PENALTIES = (1e-4, 1e-3, 1e-2)


def fit_plan(folder: Path, perception: Perception, say: Callable[[str], None], contexts: int = CONTEXTS) -> None:
    """Add the `reply_…` heads to the folder's feeling.safetensors; needs the feeling and mechanisms encoders."""
    learn, check = _seen(perception, "train", contexts), _seen(perception, "valid", min(CHECKED, contexts))
    path = folder / "feeling.safetensors"
    tensors = load_file(path)
    for name in MECHANISMS:
        found = [softmax_regression(learn.states_ND, learn.levels[name], penalty) for penalty in PENALTIES]
        losses = [nll(check.states_ND @ w[:, :-1].T + w[:, -1], check.levels[name]) for w in found]
        weights = found[int(np.argmin(losses))]
        usual = np.broadcast_to(np.log(learn.levels[name].mean(0)), check.levels[name].shape)
        plain = nll(usual, check.levels[name])
        say(f"plan: {name} {min(losses):.4f} nats on validation (always the usual: {plain:.4f})")
        tensors |= {
            f"heads.reply_{name}.pool.query": tensors["heads.reply.pool.query"],
            f"heads.reply_{name}.out.weight": weights[:, :-1].astype(np.float16),
            f"heads.reply_{name}.out.bias": weights[:, -1].astype(np.float16),
        }
    with atomic(path, "wb") as out:
        out.write(serialised(tensors))


def softmax_regression(inputs_ND: Array, targets_NC: Array, penalty: float) -> Array:
    """(C, D + 1), the bias last, for soft targets; the penalty is on the squared weights."""
    rows, width, classes = len(inputs_ND), inputs_ND.shape[1], targets_NC.shape[1]
    inputs = np.concatenate([inputs_ND, np.ones((rows, 1))], 1)

    def loss(flat: Array) -> tuple[float, Array]:
        weights = flat.reshape(classes, width + 1)
        logits = inputs @ weights.T
        total = logsumexp(logits, axis=1, keepdims=True)
        slope = (np.exp(logits - total) - targets_NC).T @ inputs / rows
        slope[:, :-1] += 2 * penalty * weights[:, :-1]
        return nll(logits, targets_NC) + penalty * float((weights[:, :-1] ** 2).sum()), slope.ravel()

    made: Array = minimize(loss, np.zeros(classes * (width + 1)), jac=True, method="L-BFGS-B").x
    return made.reshape(classes, width + 1)


def nll(logits_NC: Array, targets_NC: Array) -> float:
    """Mean negative log-likelihood of soft targets."""
    return float((logsumexp(logits_NC, axis=1) - (logits_NC * targets_NC).sum(1)).mean())


@dataclass(frozen=True)
class _Lesson:
    """Pooled states of contexts, and the levels (N, 3) of each mechanism in their gold replies, as probabilities."""

    states_ND: Array
    levels: dict[str, Array]


def _seen(perception: Perception, split: str, count: int) -> _Lesson:
    chance = random.Random(SEED)
    groups = [list(dialogue.examples()) for dialogue in load("empathetic-dialogues", split)]
    examples = [chance.choice(group) for group in groups if group]
    examples = chance.sample(examples, min(count, len(examples)))
    contexts = [example.context for example in examples]
    levels = perception.mechanisms(contexts, [example.gold.reply for example in examples])
    return _Lesson(_states(perception, contexts), {n: np.array([one[n] for one in levels]) for n in MECHANISMS})


def _states(perception: Perception, contexts: Sequence[Context]) -> Array:
    encoder = perception._feeling
    query = encoder.heads["reply.pool.query"]
    found = encoder.each(
        perception.reader.contexts(contexts), lambda states, batch: list(pooled(states, query, where(batch)))
    )
    return np.stack(found).astype(np.float64)
