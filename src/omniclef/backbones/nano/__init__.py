"""The embedded model: four small towers on onnxruntime, no torch, no prompt."""

from omniclef.backbones.nano.assets import Assets
from omniclef.backbones.nano.backbone import NanoBackbone

__all__ = ["Assets", "NanoBackbone"]
