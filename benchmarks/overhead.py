"""What the server adds to ``decide()`` at low load: one caller, one request at a time, both sides taking turns.

    python benchmarks/overhead.py [--requests N]

Prints hardware, versions and medians of N requests of each. Needs the extra [serve].
"""

from __future__ import annotations

import argparse
import http.client
import json
import re
import subprocess
import sys
import time
from statistics import median
from urllib.parse import urlsplit

from report import Sheet, hardware, show, versions
from rich.console import Console

import omniclef

QUESTIONS = {"refund": {"type": "noul", "instructions": "Does the customer ask for money back?"}}
HEADERS = {"content-type": "application/json"}


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--requests", type=int, default=300)
    count = parser.parse_args().requests
    command = [sys.executable, "-m", "omniclef.cli", "serve", "--port", "0", "--log-level", "warning"]
    process = subprocess.Popen(command, stdout=subprocess.PIPE, text=True)
    try:
        assert process.stdout is not None
        found = re.search(r"http://\S+", process.stdout.readline())
        assert found, "the server did not start"
        connection = http.client.HTTPConnection(urlsplit(found[0]).netloc)
        model = omniclef.load("nano")
        served, inside, direct = [], [], []
        for number in range(-20, count):
            state = f"Order {number}: I was charged twice. I want my money back."
            started = time.perf_counter()
            body = json.dumps({"model": "nano", "state": state, "questions": QUESTIONS})
            connection.request("POST", "/v1/systemone", body, HEADERS)
            told = json.loads(connection.getresponse().read())
            spent = time.perf_counter() - started
            # The same state would be remembered by neither: they are different processes.
            request = omniclef.parse_request({"state": state, "questions": QUESTIONS})
            started = time.perf_counter()
            model.decide(request.state, request.questions)
            if number >= 0:
                direct.append(1000 * (time.perf_counter() - started))
                served.append(1000 * spent)
                inside.append(told["x_timings"]["run_ms"])
    finally:
        process.terminate()
        process.wait(60)
    sheet = Sheet("Overhead of the server, ms", ("what", "median"))
    sheet.add("decide() in this process", f"{median(direct):.2f}")
    sheet.add("a request, as its caller sees it", f"{median(served):.2f}")
    sheet.add("its batch, in the worker", f"{median(inside):.2f}")
    added = [whole - batch for whole, batch in zip(served, inside, strict=True)]
    sheet.add("a request without its batch", f"{median(added):.2f}")
    sheet.add("a request less decide()", f"{median(served) - median(direct):.2f}")
    sheet.notes.append(f"{count} requests of each, in turns")
    console = Console()
    console.print_json(data={"hardware": hardware(), "versions": versions()})
    show([sheet], console)


if __name__ == "__main__":
    main()
