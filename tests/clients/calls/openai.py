"""openai: decisions of all types, with messages and a picture; models; errors."""

# These are programs, not tests.
# ruff: noqa: PT017, PT018

import base64
import sys
from pathlib import Path

from openai import BadRequestError, NotFoundError, OpenAI

url, demo = sys.argv[1], Path(sys.argv[2])
client = OpenAI(base_url=f"{url}/v1", api_key="k")
picture = "data:image/jpeg;base64," + base64.b64encode((demo / "photo.jpg").read_bytes()).decode()
levels = [{"label": "low"}, {"label": "high", "description": "today"}]
choices = [{"value": True, "description": "wants money back"}, {"value": False}]
questions = [
    {"type": "predicate", "name": "refund", "instructions": "Does the customer ask for money back?"},
    {"type": "choice", "instructions": "Does the customer ask for money back?", "choices": choices},
    {"type": "score", "instructions": "How urgent?", "levels": levels},
]
told = client.decisions.create(model="gpt-6-luna", input="I want my money back today.", questions=questions)
refund, choice, score = told.answers
assert refund.type == "predicate" and refund.name == "refund" and refund.probability > 0.5
assert choice.choice is True and [each.value for each in choice.probabilities] == [True, False]
assert 0 <= score.score <= 1 and [each.label for each in score.probabilities] == ["low", "high"]
assert told.usage.total_tokens == told.usage.input_tokens > 0
parts = [
    {"type": "input_text", "text": "What is this?"},
    {"type": "input_image", "image_url": picture},
    {"type": "input_json", "data": {"camera": 1}},
]
seen = client.decisions.create(model="nano", input=[{"role": "user", "content": parts}], questions=questions[:1])
assert seen.to_dict()["x_tokens"]["image"] > 0
assert [model.id for model in client.models.list()] == ["nano"]
parts[1]["image_url"] = "http://127.0.0.1:9/x.png"
for kind, arguments in (
    (BadRequestError, {"model": "nano", "input": [{"role": "user", "content": parts}], "questions": questions}),
    (NotFoundError, {"model": "nobody", "input": "x", "questions": questions}),
):
    try:
        client.decisions.create(**arguments)
    except kind as error:
        assert error.body["message"], error
    else:
        raise AssertionError(arguments)
