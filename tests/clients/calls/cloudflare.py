"""cloudflare: its percent-encoded path, media in extra_body, and its errors."""

# These are programs, not tests.
# ruff: noqa: PT017, PT018

import base64
import sys
from pathlib import Path

from cloudflare import BadRequestError, Cloudflare, UnprocessableEntityError

url, demo = sys.argv[1], Path(sys.argv[2])
client = Cloudflare(api_token="k", base_url=f"{url}/client/v4")
sound = base64.b64encode((demo / "order.wav").read_bytes()).decode()
body = {
    "model": "clef-omni",
    "state": "A spoken order.",
    "questions": {
        "drink": {"type": "choice", "instructions": "Which drink?", "criteria": {"tea": None, "coffee": None}}
    },
    "audio": [{"content_type": "audio/wav", "base64": sound}],
    "videos": ["data:video/mp4;base64," + base64.b64encode((demo / "clip.mp4").read_bytes()).decode()],
}


def run(model, extra):
    return client.ai.run(model, account_id="acc", text="dummy", extra_body=extra)


told = run("@cf/cloudflare/clef-omni", body)
assert told["model"] == "clef-omni" and told["answers"]["drink"]["probabilities"].keys() == {"tea", "coffee"}, told
assert told["usage"]["output_tokens"] == 0 and told["x_tokens"]["audio"] > 0 and told["x_tokens"]["video"] > 0
for kind, code, model, extra in (
    (BadRequestError, 7000, "@cf/cloudflare/nothing", body),
    (BadRequestError, 5006, "@cf/cloudflare/clef-omni", {**body, "model": "other"}),
    (UnprocessableEntityError, 5012, "@cf/cloudflare/clef-omni", {**body, "images": ["x"] * 5}),
):
    try:
        run(model, extra)
    except kind as error:
        assert error.errors[0].code == code, error
    else:
        raise AssertionError(code)
