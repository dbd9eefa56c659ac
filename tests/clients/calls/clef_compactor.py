"""clef-compactor: its client, with a picture."""

import base64
import sys
from pathlib import Path

from clef_compactor.client import ClefClient
from clef_compactor.config import Settings

url, demo = sys.argv[1], Path(sys.argv[2])
settings = Settings.from_env(environ={}, account_id="a" * 32, api_token="k", base_url=f"{url}/client/v4")
picture = "data:image/jpeg;base64," + base64.b64encode((demo / "photo.jpg").read_bytes()).decode()
question = {"type": "noul", "instructions": "Does the customer ask for money back?"}
told = ClefClient(settings).ask("I want my money back.", {"refund": question}, images=[picture])
assert told.answers["refund"], told
