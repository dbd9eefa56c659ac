"""The usage log: what is written, rotation, other writers, full disks, kills; and what is read from it."""

from __future__ import annotations

import errno
import fcntl
import json
import logging
import os
import re
import signal
import subprocess
import sys
import time
from collections import Counter
from collections.abc import Callable
from dataclasses import replace
from itertools import pairwise
from pathlib import Path
from typing import Any

import pytest

from omniclef.backbones.base import TokenCount
from omniclef.engine.asks import Timings
from omniclef.server.prices import Prices
from omniclef.server.usage import Usage, UsageLog, rotated
from omniclef.server.usage_report import By, read_usage

Cli = Callable[..., Any]

NOON = 1_796_126_400.0  # 2026-12-01T12:00:00Z
TOKENS = TokenCount(text=90, image=10)
USAGE = Usage(
    time=NOON,
    id="0",
    tenant="team",
    model="clef",
    route="/v1/systemone",
    status=200,
    tokens=TOKENS,
    cost=Prices().cost("clef", TOKENS),
    timings=Timings(0.0, 0.001, 0.0025, 0.0041),
)
SCRIPT = """
import sys, time, resource
from pathlib import Path
from dataclasses import replace
from itertools import pairwise
from omniclef.server.usage import Usage, UsageLog
path = Path(sys.argv[1])
def usage(i): return Usage(0.0, str(i), "t", "nano", "/v1/systemone", 200)
def wait(done):
    while not done(): time.sleep(0.005)
"""


def usage(number: int) -> Usage:
    return replace(USAGE, id=str(number))


def ids(*paths: Path) -> list[str]:
    return [json.loads(line)["id"] for path in paths for line in path.read_bytes().splitlines()]


def wait(done: Callable[[], bool]) -> None:
    """Until ``done``, or for so long that something must be broken."""
    limit = time.monotonic() + 30
    while not done():
        assert time.monotonic() < limit
        time.sleep(0.005)


def script(path: Path, code: str, *before: str) -> subprocess.Popen[str]:
    command = [*before, sys.executable, "-c", SCRIPT + code, str(path)]
    return subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)


def finished(process: subprocess.Popen[str]) -> str:
    out, err = process.communicate(timeout=60)
    assert process.returncode == 0, err
    return out


# Lines.


def test_a_line_has_all_that_is_billed_and_nothing_that_was_said() -> None:
    assert json.loads(USAGE.line()) == {
        "time": "2026-12-01T12:00:00.000Z",
        "id": "0",
        "tenant": "team",
        "model": "clef",
        "route": "/v1/systemone",
        "status": 200,
        "tokens": {"text": 90, "image": 10, "audio": 0, "video": 0},
        "cost_picodollars": 24_000_000,
        "ms": {"decode": 0.0, "queue": 1.0, "run": 2.5, "total": 4.1},
    }
    refused = json.loads(Usage(NOON, "0", "a\nb\ud800", "m", "/r", 400, longest=7).line())
    assert set(refused) == {"time", "id", "tenant", "model", "route", "status", "longest", "cost_picodollars"}
    assert refused["tenant"] == "a\nb\ud800"  # escaped: one request stays one line


def test_lines_are_appended_in_order(tmp_path: Path) -> None:
    path = tmp_path / "u.jsonl"
    for start in (0, 2500):
        log = UsageLog(path)
        for number in range(start, start + 2500):
            log.add(usage(number))
        log.close()
        assert (log.counts().written, log.counts().waiting, log.counts().lost) == (2500, 0, 0)
    assert ids(path) == [str(number) for number in range(5000)]
    assert path.stat().st_mode & 0o777 == 0o600


def test_lines_are_written_without_closing(tmp_path: Path) -> None:
    log = UsageLog(tmp_path / "u", flush=0.01)
    log.add(usage(1))
    wait(lambda: ids(tmp_path / "u") == ["1"])
    log.close()


def test_half_a_line_of_a_killed_process_spoils_no_other(tmp_path: Path) -> None:
    path = tmp_path / "u"
    path.write_bytes(usage(1).line() + b'{"time": "20')
    log = UsageLog(path)
    log.add(usage(2))
    log.close()
    report = read_usage([path])
    assert (report.total.requests, report.unreadable) == (2, 1)


def test_a_folder_that_is_not_there_is_an_error_at_the_start(tmp_path: Path) -> None:
    with pytest.raises(FileNotFoundError):
        UsageLog(tmp_path / "no" / "u")


# Rotation and other writers.


def test_full_files_are_numbered_and_the_oldest_deleted(tmp_path: Path) -> None:
    path = tmp_path / "u"
    (tmp_path / "u.bak").write_text("not ours")
    (tmp_path / "u.9").write_bytes(usage(0).line())
    log = UsageLog(path, size=1, keep=2, flush=0.005)
    for number in range(1, 5):
        log.add(usage(number))
        wait(lambda: log.counts().written == number)  # noqa: B023 - called at once
    log.close()
    wanted = ["u.12", "u.13"]
    assert [each.name for each in rotated(path)] == wanted
    assert ids(*rotated(path)) == ["3", "4"]
    assert (tmp_path / "u.bak").exists()


def test_all_full_files_are_kept_if_so_wanted(tmp_path: Path) -> None:
    path = tmp_path / "u"
    log = UsageLog(path, size=1, keep=None, flush=0.005)
    for number in range(5):
        log.add(usage(number))
        wait(lambda: log.counts().written == number + 1)  # noqa: B023 - called at once
    log.close()
    assert ids(*rotated(path)) == ["0", "1", "2", "3", "4"]


def test_a_log_that_cannot_be_rotated_grows(tmp_path: Path, caplog: pytest.LogCaptureFixture) -> None:
    path = tmp_path / ("u" * 254)  # with .1 the name is too long
    log = UsageLog(path, size=1, flush=0.002)
    for number in range(3):
        log.add(usage(number))
        wait(lambda: log.counts().written == number + 1)  # noqa: B023 - called at once
    log.close()
    assert ids(path) == ["0", "1", "2"]
    assert [record.getMessage() for record in caplog.records] == ["usage_log_cannot_rotate"]


def test_several_processes_lose_and_double_nothing_over_rotations(tmp_path: Path) -> None:
    path = tmp_path / "u"
    code = """
log = UsageLog(path, size=20_000, keep=None, flush=0.001)
for i in range(2000):
    log.add(usage(f"{sys.argv[2]}-{i}"))
    if i % 50 == 0: time.sleep(0.002)
log.close()
assert log.counts().lost == 0
"""
    command = [sys.executable, "-c", SCRIPT + code, str(path)]
    writers = [
        subprocess.Popen([*command, str(n)], stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
        for n in range(3)
    ]
    for writer in writers:
        finished(writer)
    files = [*rotated(path), *([path] if path.exists() else [])]
    assert len(files) > 5
    assert Counter(ids(*files)) == Counter(f"{n}-{i}" for n in range(3) for i in range(2000))


def test_nothing_is_written_while_another_process_rotates(tmp_path: Path) -> None:
    path = tmp_path / "u"
    log = UsageLog(path, flush=0.002)
    with path.open("rb") as other:
        fcntl.flock(other, fcntl.LOCK_EX)
        log.add(usage(1))
        time.sleep(0.05)
        assert (log.counts().written, log.counts().waiting, path.read_bytes()) == (0, 1, b"")
        path.rename(tmp_path / "u.1")
    log.close()
    assert ids(path) == ["1"]
    assert ids(tmp_path / "u.1") == []


# Disks.


def test_a_full_disk_loses_nothing_that_memory_has_room_for(tmp_path: Path, caplog: pytest.LogCaptureFixture) -> None:
    path = tmp_path / "u"
    path.symlink_to("/dev/full")  # every write there is ENOSPC
    with caplog.at_level(logging.INFO, "omniclef.server"):
        log = UsageLog(path, room=100, flush=0.005)
        for number in range(100):
            log.add(usage(number))
        wait(lambda: log.counts().failing)
        for number in range(100, 130):
            log.add(usage(number))  # no room: returns at once, and counts
        counts = log.counts()
        assert (counts.written, counts.waiting, counts.lost) == (0, 100, 30)
        time.sleep(0.05)  # some more tries
        path.unlink()  # space returns
        wait(lambda: log.counts().written == 100)
        log.add(usage(130))
        log.close()
    assert ids(path) == [*map(str, range(100)), "130"]
    assert log.counts().lost == 30
    fails = [record for record in caplog.records if record.getMessage() == "usage_log_fails"]
    assert [record.fields["problem"] for record in fails] == [os.strerror(errno.ENOSPC)]  # once, not at every try
    assert caplog.records[-1].getMessage() == "usage_log_writes_again"
    assert caplog.records[-1].fields["lost"] == 30


def test_what_a_full_disk_keeps_until_the_end_is_counted_as_lost(tmp_path: Path) -> None:
    path = tmp_path / "u"
    path.symlink_to("/dev/full")
    log = UsageLog(path, flush=0.005)
    for number in range(7):
        log.add(usage(number))
    log.close()
    assert (log.counts().written, log.counts().waiting, log.counts().lost) == (0, 0, 7)


def test_half_written_batches_are_taken_back_to_whole_lines(tmp_path: Path) -> None:
    """A limit on the size of files ends a write in the middle of a line, as a disk that fills up does."""
    path = tmp_path / "u"
    code = """
resource.setrlimit(resource.RLIMIT_FSIZE, (10_000, resource.RLIM_INFINITY))
log = UsageLog(path, flush=0.005)
for i in range(300): log.add(usage(i))
wait(lambda: log.counts().failing)
data = path.read_bytes()
assert 9_800 < len(data) <= 10_000 and data.endswith(b"\\n"), len(data)
assert log.counts().written == data.count(b"\\n") > 50
resource.setrlimit(resource.RLIMIT_FSIZE, (resource.RLIM_INFINITY, resource.RLIM_INFINITY))
log.close()
assert (log.counts().written, log.counts().lost) == (300, 0)
"""
    finished(script(path, code))
    assert ids(path) == [str(number) for number in range(300)]


def test_a_small_real_disk_that_fills_up_and_gets_space_again(tmp_path: Path) -> None:
    """In a name space of its own, where a tmpfs of 64 KiB can be mounted."""
    apart = ("unshare", "--map-root-user", "--mount")
    mount = f"mount -t tmpfs -o size=64k none {tmp_path}"
    try:
        subprocess.run([*apart, "sh", "-c", mount], check=True, capture_output=True)
    except (OSError, subprocess.CalledProcessError):
        pytest.skip("this system lets nobody mount a file system; /dev/full and RLIMIT_FSIZE stand in above")
    code = """
ballast = path.with_name("ballast")
ballast.write_bytes(bytes(40_000))
log = UsageLog(path, flush=0.005, room=3000)
for i in range(2000): log.add(usage(i))
wait(lambda: log.counts().failing)
assert 0 < log.counts().written < 2000 and log.counts().lost == 0
assert path.read_bytes().endswith(b"\\n")
ballast.unlink()
time.sleep(0.05)
for _ in range(100):  # the log is longer than the disk: somebody takes full parts elsewhere
    wait(lambda: log.counts().failing or not log.counts().waiting)
    if not log.counts().waiting: break
    part = path.rename(path.with_name("part"))
    sys.stdout.write(part.read_text())
    part.unlink()
    wait(lambda: path.exists())
    time.sleep(0.02)
log.close()
assert (log.counts().written, log.counts().lost) == (2000, 0), log.counts()
sys.stdout.write(path.read_text())
"""
    out = finished(script(tmp_path / "u", code, *apart, "sh", "-c", f'{mount} && exec "$@"', "sh"))
    assert [json.loads(line)["id"] for line in out.splitlines()] == [str(number) for number in range(2000)]


def test_a_kill_loses_no_line_that_was_flushed(tmp_path: Path) -> None:
    path = tmp_path / "u"
    code = """
log = UsageLog(path, flush=0.01)
for i in range(500): log.add(usage(i))
wait(lambda: not log.counts().waiting)
print("flushed", flush=True)
for i in range(500, 10**9):
    log.add(usage(i))
    if i % 100 == 0: time.sleep(0.001)
"""
    process = script(path, code)
    assert process.stdout is not None
    assert process.stdout.readline() == "flushed\n"
    wait(lambda: len(path.read_bytes().splitlines()) > 1000)
    process.send_signal(signal.SIGKILL)
    process.communicate()
    whole = path.read_bytes()
    lines = whole[: whole.rfind(b"\n") + 1].splitlines()
    assert [json.loads(line)["id"] for line in lines] == [str(number) for number in range(len(lines))]
    assert len(lines) > 1000


# Reading.


@pytest.fixture
def log(tmp_path: Path) -> Path:
    """Two days of two keys and two models, over three files, with half a line at the end."""
    path = tmp_path / "usage.jsonl"
    lines = []
    for number in range(100):
        tokens = TokenCount(text=10 * (number + 1), video=1000 if number == 99 else 0)
        model = "clef" if number % 2 else "nano"
        lines.append(
            replace(
                USAGE,
                time=NOON + 86_400 * (number // 50),
                tenant="a" if number < 30 else "b",
                model=model,
                tokens=tokens,
                cost=Prices().cost(model, tokens),
            ).line()
        )
    lines.append(replace(USAGE, tenant="b", status=400, tokens=TokenCount(text=70_000), cost=0).line())
    lines.append(replace(USAGE, tenant="b", status=429, tokens=None, cost=0).line())
    path.with_name("usage.jsonl.9").write_bytes(b"".join(lines[:40]))
    path.with_name("usage.jsonl.10").write_bytes(b"".join(lines[40:80]))
    path.write_bytes(b"".join(lines[80:]) + lines[0][:50])
    return path


def test_the_report_adds_up(log: Path) -> None:
    report = read_usage([log])
    assert (report.total.requests, report.total.refused, report.unreadable) == (102, 2, 1)
    assert report.total.tokens == {"text": 50_500, "image": 0, "audio": 0, "video": 1000}
    assert report.total.cost == 240_000 * (sum(10 * (n + 1) for n in range(1, 100, 2)) + 1000)
    assert set(report.groups) == {("a", "clef"), ("a", "nano"), ("b", "clef"), ("b", "nano")}
    assert report.groups["a", "nano"].tokens["text"] == sum(10 * (n + 1) for n in range(0, 30, 2))
    assert report.groups["b", "nano"].cost == 0
    assert report.sizes.total() == 101  # the 429 was not counted
    assert read_usage([log, *rotated(log)]).total == report.total  # named twice, read once


def test_share_beyond_a_window_and_quantiles(log: Path) -> None:
    report = read_usage([log])
    assert report.beyond(1000) == 2 / 101  # the clip and the refused one; exactly 1,000 would fit
    assert report.beyond(990) == 2 / 101
    assert report.beyond(989) == 3 / 101
    assert (report.beyond(0), report.beyond(70_000)) == (1.0, 0.0)
    assert [report.quantile(share) for share in (0.5, 0.99, 1.0)] == [510, 2000, 70_000]
    bins = report.bins()
    assert sum(n for _, _, n in bins) == 101
    assert bins[0] == (0, 64, 6)
    assert bins[1] == (65, 128, 6)
    assert bins[-1] == (65_537, 131_072, 1)
    assert all(after[0] == before[1] + 1 for before, after in pairwise(bins))


def test_many_states_count_by_the_longest(tmp_path: Path) -> None:
    path = tmp_path / "u"
    path.write_bytes(replace(USAGE, tokens=TokenCount(text=5000), longest=300).line())
    report = read_usage([path])
    assert report.sizes == {300: 1}
    assert report.total.tokens["text"] == 5000


@pytest.mark.parametrize(
    ("line", "unreadable"),
    [
        (b"", 1),
        (b"[]", 1),
        (b"\xff\xfe", 1),
        (b"null", 1),
        (b'{"time": 1}', 1),
        (USAGE.line().replace(b'"status":200', b'"status":"200"').strip(), 1),
        (USAGE.line().replace(b'"text":90', b'"text":"x"').strip(), 1),
        (USAGE.line().strip(), 0),
    ],
)
def test_strange_lines_are_counted(tmp_path: Path, line: bytes, unreadable: int) -> None:
    path = tmp_path / "u"
    path.write_bytes(line + b"\n" + USAGE.line())
    report = read_usage([path])
    assert (report.unreadable, report.total.requests) == (unreadable, 2 - unreadable)


def test_rotated_files_are_read_when_nothing_followed_them(log: Path) -> None:
    log.unlink()
    assert read_usage([log], (By.DAY,)).total.requests == 80


def test_the_command_line_as_json(cli: Cli, log: Path) -> None:
    ran = cli("usage", log, "--json", "--by", "day", "--window", "989")
    assert (ran.code, ran.err, ran.out.count("\n")) == (0, "", 1)
    told = json.loads(ran.out)
    assert [(group["day"], group["requests"]) for group in told["groups"]] == [("2026-12-01", 52), ("2026-12-02", 50)]
    assert told["total"]["cost_usd"] == "0.006360000000"
    assert told["total"]["input_tokens"] == 51_500
    assert told["window"] == {"tokens": 989, "share_beyond": 3 / 101}
    assert told["unreadable_lines"] == 1


@pytest.mark.parametrize(
    ("arguments", "requests"),
    [
        (("--since", "2026-12-02"), 50),
        (("--until", "2026-12-02"), 52),
        (("--since", "2026-12-01T12:00:00Z", "--until", "2026-12-01T12:00:00.001Z"), 52),
        (("--since", "2026-12-01T13:00:00+01:00", "--until", "2026-12-01T13:00:00.001+01:00"), 52),
        (("--since", "2026-12-01T12:00:00.001"), 50),
    ],
)
def test_times(cli: Cli, log: Path, arguments: tuple[str, ...], requests: int) -> None:
    ran = cli("usage", log, "--json", *arguments)
    assert json.loads(ran.out)["total"]["requests"] == requests


def test_the_command_line_draws(cli: Cli, log: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("COLUMNS", "100")
    ran = cli("usage", log, "--window", "24576", "--plot", tmp_path / "sizes.svg")
    assert (ran.code, ran.err) == (0, "")
    assert max(map(len, ran.out.splitlines())) <= 100
    rows = [line.split() for line in ran.out.splitlines()]
    assert rows[0][:4] == ["key", "model", "requests", "refused"]
    assert ["all", "102", "2", "51,500", "50,500", "0", "0", "1,000", "0.006360"] in rows
    assert any(row[:3] == ["513", "–", "1,024"] and row[-1] == "48" for row in rows)
    assert "median 510, 95 % 960, 99 % 2,000, largest 70,000" in ran.out
    assert "0.99 % of 101 requests exceed 24,576 tokens" in ran.out
    assert "1 line could not be read" in ran.out
    drawn = (tmp_path / "sizes.svg").read_text()
    heights = [float(height) for height in re.findall(r'class="bin" [^>]*height="([\d.]+)"', drawn)]
    assert len(heights) == 12
    assert sum(heights) == pytest.approx(200 * 101 / 48, abs=1)
    assert drawn.count("#cc3311") == 2
    assert "0.99 % beyond 24,576" in drawn


def test_names_cannot_steer_the_terminal(cli: Cli, tmp_path: Path) -> None:
    path = tmp_path / "u"
    path.write_bytes(replace(USAGE, tenant="\x1b[31mred").line())
    assert "\x1b" not in cli("usage", path).out


def test_an_empty_log_is_no_error(cli: Cli, tmp_path: Path) -> None:
    (tmp_path / "u").touch()
    ran = cli("usage", tmp_path / "u", "--window", "5")
    assert (ran.code, ran.err) == (0, "")
    assert json.loads(cli("usage", tmp_path / "u", "--json", "--window", "5").out)["window"]["share_beyond"] == 0


@pytest.mark.parametrize(
    "arguments", [("gone.jsonl",), ("u", "--since", "soon"), ("u", "--window", "0"), ("u", "--by", "colour")]
)
def test_wrong_input_is_one_line(
    cli: Cli, tmp_path: Path, arguments: tuple[str, ...], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    (tmp_path / "u").touch()
    ran = cli("usage", *arguments)
    assert (ran.code, ran.out, ran.err.count("\n")) == (2, "", 1)
