"""openrouter: both of its routes, and its errors."""

# These are programs, not tests.
# ruff: noqa: PT017, PT018

import sys

from openrouter import OpenRouter, errors

url = sys.argv[1]
questions = {
    "refund": {"type": "noul", "instructions": "Does the customer ask for money back?"},
    "team": {"type": "choice", "instructions": "Which team?", "criteria": {"billing": "payments", "technical": "bugs"}},
    "urgency": {"type": "score", "instructions": "How urgent?", "criteria": ["can wait", "today"]},
}
with OpenRouter(api_key="k", server_url=f"{url}/api/v1") as client:
    asked = {"state": "I want my money back.", "questions": questions}
    for told in (
        client.alpha.decisions.create(model="cloudflare/clef-omni", server_url=url, **asked),
        client.system_one.create(model="jev-latest", **asked),
    ):
        assert told.answers["refund"].noul > 0.5 and told.answers["team"].choice == "billing"
        assert told.usage.input_tokens > 0, told
    try:
        client.system_one.create(model="nobody", **asked)
    except errors.OpenRouterError as error:
        assert error.status_code == 404 and "Unknown model: nobody" in str(error), error
    else:
        raise AssertionError("an unknown model was answered")
