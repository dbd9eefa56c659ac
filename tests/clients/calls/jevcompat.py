"""jevcompat: every MUST and every SHOULD, without keys and with one."""

import json
import os
import subprocess
import sys
import tempfile
from pathlib import Path

url, locked = sys.argv[1], os.environ["LOCKED"]
program = Path(sys.executable).with_name("jevcompat")
reached = {}
for address, more in ((locked, ["--key", os.environ["KEY"]]), (url, [])):
    report = Path(tempfile.mkdtemp()) / "report.json"
    ran = subprocess.run([program, "test", address, "--json", report, *more], capture_output=True, text=True)
    told = json.loads(report.read_text())
    for each in told["results"]:
        assert each["status"] != "fail", ran.stdout
        reached[each["id"]] = reached.get(each["id"], False) or each["status"] == "pass"
missing = [name for name, passed in reached.items() if not passed]
assert not missing, missing
print(f"{len(reached)} requirements")
