"""What a reply may not say next. Shapes: R rows, T words so far, V vocabulary."""

from __future__ import annotations

from dataclasses import dataclass

import torch
from torch import Tensor

from .contract import Decoding, Specials


@dataclass(frozen=True, slots=True)
class Constraints:
    end: int
    min_length: int
    block_ngrams: int
    banned: Tensor

    @classmethod
    def of(cls, decoding: Decoding, specials: Specials, device: torch.device | str) -> Constraints:
        banned = torch.tensor(decoding.forbidden(specials), dtype=torch.long, device=device)
        return cls(specials.end, decoding.min_length, decoding.block_ngrams, banned)

    def apply_(self, scores_RV: Tensor, tokens_RT: Tensor) -> None:
        """Set what may not follow to -inf, in place. A row left with nothing to say may end."""
        scores_RV.index_fill_(1, self.banned[self.banned < scores_RV.shape[1]], -torch.inf)
        too_short = tokens_RT.shape[1] < self.min_length
        may_repeat = 0 < self.block_ngrams <= tokens_RT.shape[1]
        if not (too_short or may_repeat):
            return
        end_R = scores_RV[:, self.end].clone()
        if too_short:
            scores_RV[:, self.end] = -torch.inf
        if may_repeat:
            scores_RV[repeats(tokens_RT, self.block_ngrams)] = -torch.inf
        stuck_R = scores_RV.amax(-1) == -torch.inf
        scores_RV[:, self.end] = torch.where(stuck_R, end_R, scores_RV[:, self.end])


def repeats(tokens_RT: Tensor, n: int) -> tuple[Tensor, Tensor]:
    """Rows and words such that the word, said next in its row, would complete an n-gram said before."""
    starts = tokens_RT.shape[1] - n + 1
    said_RWn = tokens_RT.unfold(1, n - 1, 1)[:, :starts]  # n here is n - 1 words
    now_R1n = tokens_RT[:, None, starts:]
    row, start = (said_RWn == now_R1n).all(-1).nonzero(as_tuple=True)
    return row, tokens_RT[row, start + n - 1]
