"""typesafe-sdk: all types, sync and async, pictures as assets, zstd bodies, errors, models."""

# These are programs, not tests.
# ruff: noqa: PT017, PT018

import asyncio
import sys
from pathlib import Path

import typesafe_sdk as ts

url, demo = sys.argv[1], Path(sys.argv[2])
questions = {
    "refund": ts.Noul(instructions="Does the customer ask for money back?"),
    "team": ts.Choice(instructions="Which team?", criteria={"billing": "payments, refunds", "technical": None}),
    "urgency": ts.Score(instructions="How urgent?", criteria=["can wait", {"when": "this week"}, ["today"]]),
}
state = "I was charged twice. I want my money back today. " * 40  # long enough to be compressed


def check(answer):
    assert list(answer.answers) == ["refund", "team", "urgency"]
    assert answer.answers["refund"].noul > 0.5
    assert answer.answers["team"].choice == "billing"
    assert abs(sum(answer.answers["team"].probabilities.values()) - 1) < 1e-9
    assert answer.answers["urgency"].legend[1] == {"when": "this week"}
    assert answer.usage.input_tokens > 0 and answer.model == "nano" and len(answer.request_id) == 32


with ts.TypeSafeClient(base_url=url, api_key="k") as client:
    check(client.system_one(state=state, questions=questions, model="jev-latest"))
    photo = ts.Image(demo / "photo.jpg")
    seen = client.system_one(
        state=["What is in this picture?", photo],
        questions={"animal": ts.Choice(instructions="What is it?", criteria={"a cat": None, "a car": None})},
        model="jev-latest",
    )
    assert seen.answers["animal"].probabilities and seen.usage.input_tokens > 0
    assert [model.name for model in client.models.list().models] == ["nano"]
    try:
        client.system_one(state="x", questions=questions, model="nobody")
    except ts.TypeSafeBadRequestError as error:
        assert "Unknown model: nobody" in str(error), error
    else:
        raise AssertionError("an unknown model was answered")


async def main():
    async with ts.AsyncTypeSafeClient(base_url=url, api_key="k") as client:
        check(await client.system_one(state=state, questions=questions, model="jev-latest"))


asyncio.run(main())
