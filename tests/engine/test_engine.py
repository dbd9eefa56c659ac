"""The engine with its real processes: answers, and what is lost when something ends."""

from __future__ import annotations

import asyncio
import os
import signal
from collections.abc import Callable, Coroutine
from dataclasses import replace
from importlib import resources
from pathlib import Path
from typing import Any

import pytest

from omniclef import DecisionModel, InvalidInput, MediaError, ModelNotFound, Request, parse_request
from omniclef.engine import (
    Answered,
    Ask,
    Draining,
    Engine,
    EngineSettings,
    Expired,
    Loading,
    Overloaded,
    WorkerLost,
)

DEMO = Path(str(resources.files("omniclef"))) / "demo"
PHOTO, ORDER, CLIP = ((DEMO / name).read_bytes() for name in ("photo.jpg", "order.wav", "clip.mp4"))
QUESTIONS = {
    "team": {"type": "choice", "criteria": {"billing": "money and invoices", "support": "what does not work"}},
    "urgent": {"type": "noul", "instructions": "Is it urgent?"},
    "mood": {"type": "score", "criteria": ["angry", "neutral", "happy"]},
}

Run = Callable[[Coroutine[Any, Any, Any]], Any]


def ask(state: str = "The invoice is wrong.", /, **more: Any) -> Ask:
    media = {name: more.pop(name) for name in ("images", "audio", "videos") if name in more}
    request = parse_request({"state": state, "questions": QUESTIONS})
    return Ask(replace(request, **media), more.pop("model", "nano"), **more)


def values(answered: Answered, place: int = 0) -> list[float]:
    """Everything that an answer says in numbers."""
    return [number for answer in answered.decisions[place].to_dict(None)["answers"].values() for number in flat(answer)]


def flat(value: Any) -> list[float]:
    if isinstance(value, dict):
        return [number for each in value.values() for number in flat(each)]
    return [value] if isinstance(value, float) else []


async def settled(engine: Engine) -> None:
    """Waits until the model answers."""
    while not engine.ready():
        await asyncio.sleep(0.01)
    await engine.decide(ask("settled"))


def worker(engine: Engine) -> int:
    return engine.pids()["worker nano"]


@pytest.mark.parametrize(
    "media",
    [
        {},
        {"images": (PHOTO,)},
        {"audio": (ORDER,)},
        {"videos": (CLIP,)},
        {"images": (PHOTO, PHOTO), "audio": (ORDER,)},
    ],
    ids=["text", "image", "audio", "video", "several"],
)
def test_an_answer_is_that_of_the_model(run: Run, engine: Engine, nano: DecisionModel, media: dict[str, Any]) -> None:
    asked = ask(evidence=True, **media)
    answered = run(engine.decide(asked))
    alone = nano.decide_request(asked.request, evidence=True)
    expected = Answered((alone,), nano.count(asked.request), answered.timings, nano.info.digest)
    assert values(answered) == pytest.approx(values(expected), abs=1e-4)
    assert (answered.tokens, answered.digest) == (expected.tokens, expected.digest)
    assert answered.decisions[0].evidence is not None
    assert run(engine.count(asked)) == expected.tokens
    timings = answered.timings
    assert 0 < timings.run <= timings.total
    assert timings.decode + timings.queue + timings.run <= timings.total + 1e-3


def test_many_at_once_are_answered_as_each_alone(run: Run, engine: Engine, nano: DecisionModel) -> None:
    asks = [ask(f"Message number {n}: " + "please help. " * (n % 7), tenant=str(n % 3)) for n in range(40)]
    asks += [ask(f"picture {n}", images=(PHOTO,)) for n in range(3)]

    async def all_of_them() -> list[Answered]:
        return await asyncio.gather(*map(engine.decide, asks))

    for asked, answered in zip(asks, run(all_of_them()), strict=True):
        alone = Answered((nano.decide_request(asked.request),), answered.tokens, answered.timings, "")
        assert values(answered) == pytest.approx(values(alone), abs=1e-4)


def test_many_states_are_answered_in_order(run: Run, engine: Engine, nano: DecisionModel) -> None:
    states = tuple(f"State number {n} is {'late' if n % 2 else 'wrong'}." for n in range(70))
    answered = run(engine.decide(ask("is not read", states=states)))
    alone = nano.decide_many(states, QUESTIONS)
    assert len(answered.decisions) == 70
    for place, decision in enumerate(alone):
        expected = Answered((decision,), answered.tokens, answered.timings, "")
        assert values(answered, place) == pytest.approx(values(expected), abs=1e-4)
    assert answered.tokens.total == sum(decision.usage.input_tokens for decision in alone)


def test_a_killed_worker_takes_its_batch_along_and_what_waits_is_answered(run: Run, engine: Engine) -> None:
    async def scenario() -> None:
        await settled(engine)
        pid = worker(engine)
        restarts = engine.load().models["nano"].restarts
        os.kill(pid, signal.SIGSTOP)  # so that the first one computes when it ends
        tasks = [asyncio.ensure_future(engine.decide(ask(f"ask {n}"))) for n in range(6)]
        await asyncio.sleep(0.05)
        assert (engine.load().models["nano"].running, engine.load().models["nano"].waiting) == (1, 5)
        os.kill(pid, signal.SIGKILL)
        first, *others = await asyncio.gather(*tasks, return_exceptions=True)
        assert isinstance(first, WorkerLost)
        assert first.retryable
        assert all(isinstance(other, Answered) for other in others)
        assert worker(engine) != pid
        assert engine.load().models["nano"].restarts == restarts + 1

    run(scenario())


def test_while_its_worker_is_away_a_model_is_not_ready_but_accepts(run: Run, engine: Engine) -> None:
    async def scenario() -> None:
        await settled(engine)
        os.kill(worker(engine), signal.SIGKILL)
        while engine.ready():
            await asyncio.sleep(0)
        assert engine.models() == {}
        assert not engine.ready("nano")
        assert isinstance(await engine.decide(ask()), Answered)
        assert engine.ready("nano")
        assert engine.models()["nano"].name == "nano"

    run(scenario())


def test_a_cancelled_ask_leaves_the_queue_at_once(run: Run, engine: Engine) -> None:
    async def scenario() -> None:
        await settled(engine)
        pid = worker(engine)
        os.kill(pid, signal.SIGSTOP)
        tasks = [asyncio.ensure_future(engine.decide(ask(f"ask {n}"))) for n in range(3)]
        await asyncio.sleep(0.05)
        tasks[1].cancel()
        await asyncio.sleep(0)
        await asyncio.sleep(0)
        assert engine.load().models["nano"].waiting == 1
        tasks[0].cancel()  # it computes already; only its answer is dropped
        os.kill(pid, signal.SIGCONT)
        assert isinstance(await tasks[2], Answered)
        assert tasks[0].cancelled()
        assert tasks[1].cancelled()

    run(scenario())


def test_an_ask_that_is_not_answered_in_time_expires_running_or_not(run: Run, engine: Engine) -> None:
    async def scenario() -> None:
        await settled(engine)
        pid = worker(engine)
        os.kill(pid, signal.SIGSTOP)
        tasks = [engine.decide(ask(f"ask {n}", timeout=0.05)) for n in range(2)]
        results = await asyncio.gather(*tasks, return_exceptions=True)
        os.kill(pid, signal.SIGCONT)
        assert [type(result) for result in results] == [Expired, Expired]
        assert engine.load().models["nano"].waiting == 0
        await settled(engine)

    run(scenario())


def test_a_text_waits_for_one_video_at_most(run: Run, engine: Engine) -> None:
    async def scenario() -> list[str]:
        await settled(engine)
        pid = worker(engine)
        os.kill(pid, signal.SIGSTOP)
        order: list[str] = []

        async def noted(name: str, asked: Ask) -> None:
            await engine.decide(asked)
            order.append(name)

        tasks = [asyncio.ensure_future(noted("video", ask(videos=(CLIP,)))) for _ in range(3)]
        while engine.load().models["nano"].waiting < 2:
            await asyncio.sleep(0.01)
        tasks.append(asyncio.ensure_future(noted("text", ask("quick"))))
        await asyncio.sleep(0)
        os.kill(pid, signal.SIGCONT)
        await asyncio.gather(*tasks)
        return order

    assert run(scenario()).index("text") <= 1


@pytest.mark.parametrize(
    ("media", "problem"),
    [
        ({"images": (b"\x89PNG\r\n\x1a\n" + bytes(100),)}, "images"),
        ({"videos": (CLIP[:20_000],)}, "videos"),
        ({"images": (Path("/etc/passwd"),)}, "nothing is opened"),
        ({"images": ("/etc/passwd",)}, "nothing is opened"),
        ({"audio": ("https://example.com/a.wav",)}, "nothing is opened"),
        ({"images": (PHOTO,) * 17}, "the limit is 16"),
    ],
)
def test_hostile_media_fail_alone(run: Run, engine: Engine, media: dict[str, Any], problem: str) -> None:
    async def scenario() -> list[Any]:
        others = [engine.decide(ask(images=(PHOTO,))), engine.decide(ask())]
        return await asyncio.gather(engine.decide(ask(**media)), *others, return_exceptions=True)

    hostile, *others = run(scenario())
    assert isinstance(hostile, MediaError)
    assert problem in str(hostile)
    assert all(isinstance(other, Answered) for other in others)


def test_a_hostile_example_of_an_option_is_tried_outside_the_worker(run: Run, engine: Engine) -> None:
    examples = ["data:image/png;base64,iVBORw0KGgoAAAAA"]
    questions = {"q": {"type": "choice", "criteria": {"a": {"description": "x", "examples": examples}, "b": None}}}
    with pytest.raises(MediaError) as refused:
        run(engine.decide(Ask(parse_request({"state": "s", "questions": questions}), "nano")))
    assert refused.value.field == "questions.q.criteria.a.examples"


def test_a_model_that_is_not_served_is_not_found(run: Run, engine: Engine) -> None:
    with pytest.raises(ModelNotFound, match="use nano"):
        run(engine.decide(ask(model="other")))


def test_a_wrong_option_is_the_callers_error(run: Run, engine: Engine) -> None:
    with pytest.raises(InvalidInput, match="confidence"):
        run(engine.decide(ask(confidence="certain")))


def test_nothing_is_held_after_many_asks(run: Run, engine: Engine, open_files: Callable[[], int]) -> None:
    async def scenario() -> tuple[int, int]:
        await settled(engine)
        before = open_files()
        broken = [engine.decide(ask(images=(PHOTO[:-200],))) for _ in range(10)]
        fine = [engine.decide(ask(images=(PHOTO,))) for _ in range(10)]
        await asyncio.gather(*broken, *fine, return_exceptions=True)
        return before, open_files()

    before, after = run(scenario())
    assert after == before
    assert engine.load().media_bytes == 0
    assert engine.load().decoding == 0


def test_past_its_bound_the_queue_refuses_and_what_was_accepted_is_answered_by_draining(run: Run) -> None:
    async def scenario() -> None:
        engine = Engine([Loading("nano", "nano")], EngineSettings(queue_tokens=300, decoders=1))
        await engine.start()
        try:
            pid = worker(engine)
            os.kill(pid, signal.SIGSTOP)
            tasks = [asyncio.ensure_future(engine.decide(ask(f"ask {n}"))) for n in range(50)]
            await asyncio.sleep(0.1)
            refused = [task for task in tasks if task.done()]
            assert 0 < len(refused) < 50
            for task in refused:
                error = task.exception()
                assert isinstance(error, Overloaded)
                assert error.retry_after
            assert engine.load().models["nano"].waiting_tokens <= 300
            draining = asyncio.ensure_future(engine.drain(30))
            await asyncio.sleep(0)
            assert not engine.ready()
            with pytest.raises(Draining):
                await engine.decide(ask())
            os.kill(pid, signal.SIGCONT)
            assert await draining
            accepted = [task for task in tasks if task not in refused]
            assert all(isinstance(task.result(), Answered) for task in accepted)
        finally:
            await engine.close()
        with pytest.raises(ProcessLookupError):
            os.kill(pid, 0)

    run(scenario())


def test_a_worker_that_is_stuck_is_replaced(run: Run) -> None:
    async def scenario() -> None:
        engine = Engine([Loading("nano", "nano")], EngineSettings(decoders=1, stuck_seconds=0.3))
        await engine.start()
        try:
            os.kill(worker(engine), signal.SIGSTOP)
            with pytest.raises(WorkerLost):
                await engine.decide(ask())
        finally:
            await engine.close()

    run(scenario())


def test_what_cannot_be_loaded_stops_the_start_and_leaves_no_process(run: Run, tmp_path: Path) -> None:
    async def scenario() -> None:
        engine = Engine([Loading("none", tmp_path)], EngineSettings(decoders=1))
        with pytest.raises(ModelNotFound, match="is not known"):
            await engine.start()
        assert engine.pids() == {}

    run(scenario())


def test_names_of_models_must_differ() -> None:
    with pytest.raises(InvalidInput, match="models"):
        Engine([Loading("a", "nano"), Loading("a", "nano")])


def test_ask_is_a_request_and_its_options() -> None:
    assert Ask(Request("s", {}), "nano").states == ()
