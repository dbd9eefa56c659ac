"""clef-evals: its client, sync and async."""

# These are programs, not tests.
# ruff: noqa: PT018

import asyncio
import sys

from clef_evals.client import ClefClient
from clef_evals.config import ClefConfig
from clef_evals.models import Choice, Noul

env = {"CLEF_ACCOUNT_ID": "a" * 32, "CLEF_API_TOKEN": "k", "CLEF_BASE_URL": f"{sys.argv[1]}/client/v4"}
questions = {
    "refund": Noul(instructions="Does the customer ask for money back?"),
    "team": Choice(instructions="Which team?", criteria={"billing": "payments", "technical": "bugs"}),
}
client = ClefClient(ClefConfig.from_env(env))
told = client.run("I want my money back.", questions)
assert told.answers["team"].choice == "billing" and told.usage.input_tokens > 0, told


async def main():
    async with ClefClient(ClefConfig.from_env(env)) as client:
        assert (await client.arun("I want my money back.", questions)).answers["refund"].probability > 0.5


asyncio.run(main())
