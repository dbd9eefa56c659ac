"""clef-router: a route and a decision."""

# These are programs, not tests.
# ruff: noqa: PT018

import sys

from clef_router import ClefRouter

router = ClefRouter(account_id="a" * 32, api_token="k", base_url=f"{sys.argv[1]}/client/v4")
assert router.route("What is the capital of France?").tier in ("cheap", "frontier")
question = {"type": "noul", "instructions": "Does the customer ask for money back?"}
told = router.decide("I want my money back.", {"refund": question})
assert told.usage.input_tokens > 0 and told.answers, told
