"""An encoded sound to mono samples at 16 kHz."""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

from omniclef.errors import MediaError
from omniclef.media.budgets import DEFAULT_BUDGETS, Budgets
from omniclef.media.sources import Fetch, Source, identify, read_source
from omniclef.media.streams import SAMPLE_RATE, Deadline, check_seconds, claimed_seconds, decode_sound, opened

__all__ = ["load_audio"]


def load_audio(
    source: Source,
    *,
    field: str = "audio[0]",
    budget: Budgets = DEFAULT_BUDGETS,
    fetch: Fetch | None = None,
) -> npt.NDArray[np.float32]:
    """Decode the first audio stream of a WAV, MP3, FLAC, Ogg or M4A, or of a video container.

    A file that holds less sound than its header claims is refused and never answered in part: a decision on
    half a recording looks like one on the whole. An MP3 without a length in its header cannot be told from a
    shorter one.

    Args:
        source: see ``read_source``.
        field: path of the sound in the request, for errors.
        budget: ``audio_*``, the sample rates and ``decode_seconds``; length is checked by the header's claim
            first and by what is decoded after.
        fetch: called with an http(s) URL; without it a URL is refused.

    Returns:
        float32 [T] mono at 16 kHz, full scale 1, always finite, T >= 1.

    Raises:
        MediaError: another kind of file, no or empty sound, damaged or cut short, or over budget.
    """
    data = read_source(source, field=field, limit=budget.audio_bytes, fetch=fetch)
    signature = identify(data, "audio", field)
    deadline = Deadline(budget.decode_seconds, field)
    with opened(data, signature, field, budget) as container:
        stream = next(iter(container.streams.audio), None)
        if stream is None:
            raise MediaError(field, f"the {signature.name} has no audio stream", "send a file with sound")
        claimed = claimed_seconds(container, stream, data)
        if claimed is not None:
            check_seconds(claimed, budget.audio_seconds, field, "the header claims")
        limit = budget.audio_seconds
        samples, _ = decode_sound(
            container, stream, field=field, limit=limit, budget=budget, deadline=deadline
        )
    if not samples.size:
        raise MediaError(field, "the audio stream is empty (0 samples)", "send a file with sound")
    seconds = samples.size / SAMPLE_RATE
    if claimed is not None and claimed - seconds > max(0.1, 0.02 * claimed):
        problem = (
            f"is cut short: {seconds:.2f} s of the {claimed:.2f} s that its header claims can be decoded"
        )
        raise MediaError(field, problem, "send the whole file")
    return samples
