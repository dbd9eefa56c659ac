"""Encoded media in; RGB pixels, 16 kHz mono samples and two frames a second out, within budgets. Knows no
models.
"""

from omniclef.media.audio import load_audio
from omniclef.media.budgets import Budgets
from omniclef.media.image import load_image
from omniclef.media.sources import Fetch, Source
from omniclef.media.video import load_video

__all__ = ["Budgets", "Fetch", "Source", "load_audio", "load_image", "load_video"]
