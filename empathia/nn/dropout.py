"""What is left out in training: features of a row, or words."""

from __future__ import annotations

import torch
from torch import Tensor, nn


class Dropout(nn.Module):
    """One mask per row and feature, shared by all positions (Gal and Ghahramani 2016): as good a regulariser here as a
    mask per position, and drawing it costs a tenth or less of the time."""

    def __init__(self, share: float) -> None:
        super().__init__()
        self.share = share

    def forward(self, x_BTD: Tensor) -> Tensor:
        if not self.training or not self.share:
            return x_BTD
        keep = 1 - self.share
        mask = torch.rand(x_BTD.shape[0], 1, x_BTD.shape[2], device=x_BTD.device) < keep
        return x_BTD * (mask / keep)


class Forget(nn.Module):
    """Hides a share of the words, never the first, from whoever attends to them: what is told from a few words that
    were learned by heart must then be told from others too."""

    def __init__(self, share: float) -> None:
        super().__init__()
        self.share = share

    def forward(self, mask_BS: Tensor) -> Tensor:
        if not self.training or not self.share:
            return mask_BS
        kept_BS = torch.rand(mask_BS.shape, device=mask_BS.device) >= self.share
        kept_BS[:, 0] = True
        return mask_BS & kept_BS
