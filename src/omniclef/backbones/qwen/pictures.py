"""Pictures and frames as patches for a vision tower: scaled, normalised and cut as the released weights know them.

Knows pixels and the settings of a release's processor files. Must not know tokens, prompts or records. The kernel is
torch's bicubic one on 8-bit samples, which is also what torchvision calls, so that both give the same values.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
import numpy.typing as npt
import torch
import torch.nn.functional as F
from torch import Tensor

from omniclef.errors import InvalidInput

__all__ = ["Pictures"]

KERNELS = {2: "bilinear", 3: "bicubic"}
"""torch's names of the numbers that processor files use."""

LONGEST = 200
"""A picture may be this many times as long as it is wide."""


@dataclass(frozen=True, slots=True)
class Pictures:
    """How pictures, or clips, become patches.

    patch: side of a patch in pixels. merge: patches of a token, along each side. frames: frames of a patch in time.
    mean and std: of samples from 0 to 1, by channel. smallest and largest: pixels after scaling; of a frame, or of all
    frames of a clip together where ``whole_clip`` says so.
    """

    patch: int
    merge: int
    frames: int
    mean: tuple[float, ...]
    std: tuple[float, ...]
    rescale: float
    kernel: str
    smallest: int
    largest: int
    whole_clip: bool = False

    @classmethod
    def of(cls, settings: Mapping[str, Any], *, whole_clip: bool = False) -> Pictures:
        """By one section of a release's processor files.

        Raises:
            InvalidInput: a setting is missing, or asks for another kernel.
        """
        try:
            size = settings.get("size") or {}
            kernel = KERNELS[settings.get("resample", 3)]
            return cls(
                patch=int(settings["patch_size"]),
                merge=int(settings["merge_size"]),
                frames=int(settings["temporal_patch_size"]),
                mean=tuple(map(float, settings["image_mean"])),
                std=tuple(map(float, settings["image_std"])),
                rescale=float(settings.get("rescale_factor", 1 / 255)),
                kernel=kernel,
                smallest=int(settings.get("min_pixels") or size["shortest_edge"]),
                largest=int(settings.get("max_pixels") or size["longest_edge"]),
                whole_clip=whole_clip,
            )
        except (KeyError, TypeError, ValueError) as error:
            problem = f"lacks a usable {error}"
            raise InvalidInput("preprocessor_config.json", problem, "use the processor files of the release") from error

    def within(self, smallest: int, largest: int) -> Pictures:
        """The same, between other numbers of pixels."""
        return replace(self, smallest=smallest, largest=largest)

    def patches(self, frames: Sequence[npt.NDArray[np.uint8]], field: str) -> tuple[Tensor, tuple[int, int, int]]:
        """One picture, or the frames of one clip.

        Args:
            frames: uint8 RGB [H, W, 3], all of one size.
            field: path of the medium in the request, for errors.

        Returns:
            float32 [T*H*W, 3 * frames * patch * patch] and the grid (T, H, W), counted in patches. Four neighbours that
            become one token stand together.
        """
        height, width = frames[0].shape[:2]
        tall, wide = self.fitted(height, width, len(frames), field)
        pixels = torch.from_numpy(np.stack(frames)).permute(0, 3, 1, 2).contiguous()
        if (tall, wide) != (height, width):
            pixels = F.interpolate(pixels, (tall, wide), mode=self.kernel, align_corners=False, antialias=True)
        mean, std = (torch.tensor(values) * (1.0 / self.rescale) for values in (self.mean, self.std))
        samples = (pixels.float() - mean[:, None, None]) / std[:, None, None]
        # A picture stands still, and so does the end of a clip with an odd number of frames.
        missing = -len(samples) % self.frames
        if missing:
            samples = torch.cat([samples, samples[-1:].expand(missing, -1, -1, -1)])
        return self._cut(samples)

    def fitted(self, height: int, width: int, frames: int, field: str) -> tuple[int, int]:
        """(height, width) in whole tokens, near to the given ones, with a number of pixels that is allowed."""
        step = self.patch * self.merge
        if self.whole_clip and min(height, width) < step:
            up = max(step / height, step / width)
            height, width = int(height * up), int(width * up)
        if max(height, width) > LONGEST * min(height, width):
            problem = f"{width} x {height} pixels, one side may be at most {LONGEST} times the other"
            raise InvalidInput(field, problem, "crop it")
        count, rounded = 1, 1
        if self.whole_clip:
            count, rounded = frames, round(frames / self.frames) * self.frames
        tall, wide = round(height / step) * step, round(width / step) * step
        area = rounded * tall * wide
        if area > self.largest:
            down = math.sqrt(count * height * width / self.largest)
            return tuple(max(step, math.floor(side / down / step) * step) for side in (height, width))  # type: ignore[return-value]
        if area < self.smallest:
            up = math.sqrt(self.smallest / (count * height * width))
            return tuple(math.ceil(side * up / step) * step for side in (height, width))  # type: ignore[return-value]
        return tall, wide

    def _cut(self, samples: Tensor) -> tuple[Tensor, tuple[int, int, int]]:
        """[N, 3, height, width] to patches: tokens from left to right and top to bottom, then patches in a token."""
        count, channels, height, width = samples.shape
        grid = count // self.frames, height // self.patch, width // self.patch
        cut = samples.reshape(
            grid[0], self.frames, channels,
            grid[1] // self.merge, self.merge, self.patch,
            grid[2] // self.merge, self.merge, self.patch,
        )  # fmt: skip
        ordered = cut.permute(0, 3, 6, 4, 7, 2, 1, 5, 8)
        return ordered.reshape(math.prod(grid), channels * self.frames * self.patch**2), grid
