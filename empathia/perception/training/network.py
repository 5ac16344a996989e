"""MiniLM's encoder and the heads that answer perception's questions.

Each question has its own copy of the six layers; the word vectors are the pretrained ones, frozen, so that all
copies ship with one table. Heads pool by attention that starts as a mean: pool(h) = Σ softmax(w·h) h, w = 0.

Shapes: B rows, T word pieces, D width, L turns.
"""

from __future__ import annotations

from pathlib import Path

import torch
import torch.nn.functional as F
from safetensors.torch import load_file
from torch import Tensor, nn

from ...core.taxonomy import EMOTIONS, EMOTIONS_AND_INTENTS, LEVELS, MECHANISMS

WIDTH, LAYERS, HEADS, INNER, EPSILON = 384, 6, 12, 1536, 1e-12


class Layer(nn.Module):
    def __init__(self, dropout: float) -> None:
        super().__init__()
        self.qkv, self.attended = nn.Linear(WIDTH, 3 * WIDTH), nn.Linear(WIDTH, WIDTH)
        self.widen, self.narrow = nn.Linear(WIDTH, INNER), nn.Linear(INNER, WIDTH)
        self.attention_norm, self.output_norm = nn.LayerNorm(WIDTH, EPSILON), nn.LayerNorm(WIDTH, EPSILON)
        self.dropout = nn.Dropout(dropout)

    def forward(self, x_BTD: Tensor, mask_B11T: Tensor) -> Tensor:
        rows, length, _ = x_BTD.shape
        q, k, v = self.qkv(x_BTD).view(rows, length, 3, HEADS, WIDTH // HEADS).permute(2, 0, 3, 1, 4)
        heads = F.scaled_dot_product_attention(q, k, v, attn_mask=mask_B11T)
        mixed = self.attended(heads.transpose(1, 2).reshape(rows, length, WIDTH))
        x_BTD = self.attention_norm(x_BTD + self.dropout(mixed))
        return self.output_norm(x_BTD + self.dropout(self.narrow(F.gelu(self.widen(x_BTD)))))


class Layers(nn.Module):
    """Embedded pieces → states: the part that is exported and quantised."""

    def __init__(self, dropout: float) -> None:
        super().__init__()
        self.norm = nn.LayerNorm(WIDTH, EPSILON)
        self.dropout = nn.Dropout(dropout)
        self.layers = nn.ModuleList(Layer(dropout) for _ in range(LAYERS))

    def forward(self, embedded_BTD: Tensor, mask_B11T: Tensor) -> Tensor:
        x_BTD = self.dropout(self.norm(embedded_BTD))
        for layer in self.layers:
            x_BTD = layer(x_BTD, mask_B11T)
        return x_BTD


class Encoder(nn.Module):
    def __init__(self, dropout: float = 0.1) -> None:
        super().__init__()
        self.words = nn.Embedding(30522, WIDTH)
        self.positions = nn.Embedding(512, WIDTH)
        self.listener = nn.Embedding(2, WIDTH)
        self.layers = Layers(dropout)
        self.words.weight.requires_grad = False

    def forward(self, ids_BT: Tensor, listener_BT: Tensor) -> Tensor:
        places_T = torch.arange(ids_BT.shape[1])
        embedded = self.words(ids_BT) + self.positions(places_T) + self.listener(listener_BT)
        return self.layers(embedded, mask(ids_BT))

    @classmethod
    def pretrained(cls, weights: Path, dropout: float = 0.1) -> Encoder:
        """From all-MiniLM-L6-v2's safetensors file."""
        theirs = load_file(weights)
        encoder = cls(dropout)
        own = encoder.state_dict()
        embeddings = {"words": "word", "positions": "position", "listener": "token_type"}
        names = {f"{ours}.weight": [f"embeddings.{name}_embeddings.weight"] for ours, name in embeddings.items()}
        for end in ("weight", "bias"):
            names[f"layers.norm.{end}"] = [f"embeddings.LayerNorm.{end}"]
            for i in range(LAYERS):
                theirs_i, ours_i = f"encoder.layer.{i}.", f"layers.layers.{i}."
                names[ours_i + f"qkv.{end}"] = [
                    theirs_i + f"attention.self.{x}.{end}" for x in ("query", "key", "value")
                ]
                for ours, name in {
                    "attended": "attention.output.dense",
                    "attention_norm": "attention.output.LayerNorm",
                    "widen": "intermediate.dense",
                    "narrow": "output.dense",
                    "output_norm": "output.LayerNorm",
                }.items():
                    names[f"{ours_i}{ours}.{end}"] = [f"{theirs_i}{name}.{end}"]
        encoder.load_state_dict({ours: torch.cat([theirs[n] for n in names[ours]]) for ours in own})
        return encoder


def mask(ids_BT: Tensor) -> Tensor:
    """0 where there is a word piece, −∞ where there is padding, to be added to attention's scores."""
    return torch.zeros(ids_BT.shape).masked_fill(ids_BT == 0, float("-inf"))[:, None, None]


class Pool(nn.Module):
    """Attention over the pieces that `where` marks; a plain mean before training."""

    def __init__(self) -> None:
        super().__init__()
        self.query = nn.Parameter(torch.zeros(WIDTH))

    def forward(self, states_BTD: Tensor, where_BT: Tensor) -> Tensor:
        scores_BT = (states_BTD @ self.query).masked_fill(~where_BT, -1e4)
        return (scores_BT.softmax(-1)[:, None] @ states_BTD)[:, 0]


class Head(nn.Module):
    """Pool, drop, and one linear map to the classes."""

    def __init__(self, classes: int, dropout: float = 0.2) -> None:
        super().__init__()
        self.pool, self.dropout, self.out = Pool(), nn.Dropout(dropout), nn.Linear(WIDTH, classes)

    def forward(self, states_BTD: Tensor, where_BT: Tensor) -> Tensor:
        return self.out(self.dropout(self.pool(states_BTD, where_BT)))


class CauseHead(nn.Module):
    """Is turn i a cause of the last turn's emotion? From both turns' pools and their distance; and, per piece,
    does it stand in the words that say the cause?"""

    FAR = 7

    def __init__(self, dropout: float = 0.2) -> None:
        super().__init__()
        self.pool = Pool()
        self.dropout = nn.Dropout(dropout)
        self.distance = nn.Embedding(2 * (self.FAR + 1), WIDTH)  # by turns back, and by who speaks
        self.mix, self.out = nn.Linear(4 * WIDTH, WIDTH), nn.Linear(WIDTH, 1)
        self.word = nn.Linear(WIDTH, 1)
        nn.init.normal_(self.distance.weight, std=0.02)

    def forward(self, states_BTD: Tensor, turns_BT: Tensor, distance_BL: Tensor) -> tuple[Tensor, Tensor]:
        """Logits per turn (B, L) and per piece (B, T). `turns_BT` counts from 0, −1 for marks and padding."""
        turns = distance_BL.shape[1]
        inside_BLT = turns_BT[:, None] == torch.arange(turns)[:, None]
        scores_BLT = (states_BTD @ self.pool.query)[:, None].masked_fill(~inside_BLT, -1e4)
        turn_BLD = scores_BLT.softmax(-1) @ states_BTD
        last_B = turns_BT.max(1).values
        target_BLD = turn_BLD[torch.arange(len(turn_BLD)), last_B][:, None].expand_as(turn_BLD)
        both = torch.cat([turn_BLD, target_BLD, turn_BLD * target_BLD, self.distance(distance_BL)], -1)
        hidden_BLD = F.gelu(self.mix(self.dropout(both)))
        return self.out(hidden_BLD)[..., 0], self.word(self.dropout(states_BTD))[..., 0]


def heads_of(question: str) -> nn.ModuleDict:
    """The heads of one encoder."""
    made: dict[str, nn.Module] = {}
    if question == "feeling":
        made["emotion"], made["polarity"] = Head(len(EMOTIONS)), Head(1)
        made["reply"], made["last"] = Head(len(EMOTIONS_AND_INTENTS)), Head(len(EMOTIONS_AND_INTENTS))
    elif question == "utterance":
        made["label"] = Head(len(EMOTIONS_AND_INTENTS))
    elif question == "mechanisms":
        made |= {name: Head(len(LEVELS)) for name in MECHANISMS}
        made |= {f"{name}_words": nn.Linear(WIDTH, 1) for name in MECHANISMS}
    elif question == "cause":
        made["cause"] = CauseHead()
    return nn.ModuleDict(made)
