"""litellm: Cloudflare's route with pictures, sounds and clips, and TypeSafe's."""

import base64
import os
import sys
from pathlib import Path

os.environ["LITELLM_LOCAL_MODEL_COST_MAP"] = "True"
os.environ["CLOUDFLARE_API_KEY"] = "k"

import litellm

url, demo = sys.argv[1], Path(sys.argv[2])


def data_url(kind, name):
    return f"data:{kind};base64," + base64.b64encode((demo / name).read_bytes()).decode()


questions = {
    "team": {"type": "choice", "instructions": "Which team?", "criteria": {"billing": "payments", "technical": "bugs"}},
    "refund": {"type": "noul", "instructions": "Does the customer ask for money back?"},
    "urgency": {"type": "score", "instructions": "How urgent?", "criteria": ["can wait", "today"]},
}
told = litellm.systemone(
    model="cloudflare/clef-omni",
    api_base=f"{url}/client/v4/accounts/acc/ai/run",
    api_key="k",
    state="I want my money back.",
    questions=questions,
    images=[data_url("image/jpeg", "photo.jpg")],
    audio=[data_url("audio/wav", "order.wav")],
    videos=[data_url("video/mp4", "clip.mp4")],
)
body = told if isinstance(told, dict) else told.model_dump()
assert set(body["answers"]) == set(questions), body
assert body["usage"]["input_tokens"] > 200, body  # a picture, a sound and a clip are in it
told = litellm.systemone(
    model="typesafe/jev-latest", api_base=url, api_key="k", state="I want my money back.", questions=questions
)
body = told if isinstance(told, dict) else told.model_dump()
assert body["answers"]["refund"]["noul"] > 0.5, body
