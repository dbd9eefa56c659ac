"""A release behind the engine: a text that is too long for its window, and pictures that it reads."""

from __future__ import annotations

from collections.abc import Callable, Coroutine
from dataclasses import replace
from importlib import resources
from pathlib import Path
from typing import Any

import pytest
from tiny_release import build

import omniclef
from omniclef import TooLong, parse_request
from omniclef.engine import Ask, Engine, EngineSettings, Loading

PHOTO = (Path(str(resources.files("omniclef"))) / "demo" / "photo.jpg").read_bytes()
QUESTIONS = {"team": {"type": "choice", "criteria": {"billing": "money", "support": "faults"}}}
WINDOW = 1500


@pytest.mark.slow
def test_a_release_is_served_as_it_answers_by_itself(
    run: Callable[[Coroutine[Any, Any, Any]], Any], tmp_path: Path
) -> None:
    folder = build(tmp_path / "tiny", "omni")
    model = omniclef.load(folder, ids="anonymous", window=WINDOW)
    text = parse_request({"state": "The invoice is wrong.", "questions": QUESTIONS})
    long = replace(text, state="word " * 2 * WINDOW)
    seen = replace(text, images=(PHOTO,))

    async def scenario() -> None:
        engine = Engine([Loading("tiny", folder, window=WINDOW)], EngineSettings(decoders=1))
        await engine.start()
        try:
            assert engine.models()["tiny"].digest == model.info.digest
            for request in (text, seen):
                answered = await engine.decide(Ask(request, "tiny"))
                expected = model.decide_request(request).answers["team"].to_dict(None)["probabilities"]
                found = answered.decisions[0].answers["team"].to_dict(None)["probabilities"]
                assert found == pytest.approx(expected, abs=1e-4)
                assert answered.tokens == model.count(request) == await engine.count(Ask(request, "tiny"))
            with pytest.raises(TooLong) as refused:
                await engine.decide(Ask(long, "tiny"))
            assert refused.value.tokens > refused.value.limit == WINDOW
            cut = await engine.decide(Ask(long, "tiny", truncate="state"))
            assert cut.decisions[0].usage.state_tokens_dropped == refused.value.tokens - refused.value.limit
        finally:
            await engine.close()

    run(scenario())
