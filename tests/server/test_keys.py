"""API keys: hashed, named, limited, read again when their file changes."""

from __future__ import annotations

import hmac
import json
import logging
import re
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from omniclef.errors import InvalidInput
from omniclef.server.keys import VARIABLE, Keys, KeysRequired, add_key, require, required
from omniclef.server.limits import Limits

Cli = Callable[..., Any]

SECRET = "s3cret-" + "x" * 20


def of_environment(text: str) -> Keys:
    return Keys(None, {VARIABLE: text})


def test_a_new_key_is_shown_once_and_stored_as_a_hash(tmp_path: Path) -> None:
    file = tmp_path / "keys.json"
    one = add_key(file, "search", Limits(requests=60, tokens=9000))
    two = add_key(file, "mail")
    assert len({one, two}) == 2
    assert re.fullmatch(r"oc-[\w-]{43}", one)
    assert not re.search(f"{one}|{two}|{one[3:]}", file.read_text())
    assert file.stat().st_mode & 0o777 == 0o600
    keys = Keys(file, {})
    assert [keys.tenant(key) for key in (one, two)] == ["search", "mail"]
    assert keys.limits("search") == Limits(60, 9000)
    assert keys.limits("mail") == keys.limits("nobody") == Limits()


@pytest.mark.parametrize("wrong", ["", "oc-", "ü\ud800", "x" * 100_000, "\x00"])
def test_any_other_key_is_nobodys(tmp_path: Path, wrong: str) -> None:
    key = add_key(tmp_path / "k", "a")
    keys = Keys(tmp_path / "k", {})
    for each in (wrong, key + wrong, key[:-1], key.upper()):
        assert keys.tenant(each) == ("a" if each == key else None)
    stored = json.loads((tmp_path / "k").read_text())["keys"][0]["hash"]
    assert keys.tenant(stored) is None


def test_the_same_key_has_another_hash_in_another_file(tmp_path: Path) -> None:
    salts = set()
    for name in "ab":
        add_key(tmp_path / name, "k")
        salts.add(json.loads((tmp_path / name).read_text())["salt"])
    assert len(salts) == 2


def test_every_key_is_compared_whichever_is_right(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    file = tmp_path / "k"
    plain = [add_key(file, name) for name in "abc"]
    keys = Keys(file, {VARIABLE: f"d={SECRET}"})
    compared = []
    real = hmac.compare_digest
    monkeypatch.setattr(hmac, "compare_digest", lambda a, b: compared.append(a) or real(a, b))
    for key in (*plain, SECRET, "wrong"):
        compared.clear()
        keys.tenant(key)
        assert len(set(compared)) == 4


def test_keys_of_the_environment() -> None:
    keys = of_environment(f" team = {SECRET} , {SECRET}2,{SECRET}3==,ops={SECRET}4= ,")
    assert keys.names() == ("team", "key-2", "key-3", "ops")
    tenants = [keys.tenant(SECRET + end) for end in ("", "2", "3==", "4=")]
    assert tenants == ["team", "key-2", "key-3", "ops"]
    assert SECRET not in repr(vars(keys))
    assert len(of_environment("")) == 0


@pytest.mark.parametrize("text", ["a=short", "short", f"a={SECRET},a={SECRET}2", f"a\nb={SECRET}"])
def test_a_wrong_variable_is_refused_without_showing_a_key(text: str) -> None:
    with pytest.raises(InvalidInput, match=VARIABLE) as error:
        of_environment(text)
    assert SECRET not in str(error.value)
    assert "short" not in str(error.value)


def test_a_file_that_changed_is_read_again(tmp_path: Path, caplog: pytest.LogCaptureFixture) -> None:
    file = tmp_path / "k"
    one = add_key(file, "a")
    keys = Keys(file, {})
    two = add_key(file, "b", Limits(requests=1))
    assert keys.tenant(two) == "b"
    assert keys.limits("b") == Limits(requests=1)
    content = json.loads(file.read_text())
    content["keys"] = content["keys"][1:]
    file.write_text(json.dumps(content))
    assert keys.tenant(one) is None
    assert keys.tenant(two) == "b"
    file.write_text("{")
    with caplog.at_level(logging.ERROR, "omniclef.server"):
        assert [keys.tenant(two) for _ in range(3)] == ["b"] * 3
        file.unlink()
        assert keys.tenant(two) == "b"
    errors = [record.getMessage() for record in caplog.records if record.levelno == logging.ERROR]
    assert errors == ["keys_unreadable"] * 2  # once a change
    file.write_text(json.dumps(content))
    assert keys.tenant(two) == "b"


def test_a_file_that_everybody_can_read_is_warned_of(tmp_path: Path, caplog: pytest.LogCaptureFixture) -> None:
    file = tmp_path / "k"
    add_key(file, "a")
    with caplog.at_level(logging.WARNING, "omniclef.server"):
        Keys(file, {})
        assert not caplog.records
        file.chmod(0o644)
        Keys(file, {})
    assert [record.getMessage() for record in caplog.records] == ["keys_readable_by_everybody"]


@pytest.mark.parametrize(
    "content",
    [
        "",
        "[]",
        '{"keys": []}',
        '{"salt": "xy", "keys": []}',
        '{"salt": "00", "keys": [1]}',
        '{"salt": "00", "keys": [{"name": "a", "hash": "00"}]}',
        '{"salt": "00", "keys": [{"name": "a", "hash": 1}]}',
        '{"salt": "00", "keys": [{"name": "", "hash": "%s"}]}',
        '{"salt": "00", "keys": [{"name": "a", "hash": "%s"}, {"name": "a", "hash": "%s"}]}',
        '{"salt": "00", "keys": [{"name": "a", "hash": "%s", "requests_per_minute": 0}]}',
        '{"salt": "00", "keys": [{"name": "a", "hash": "%s", "tokens_per_minute": true}]}',
    ],
)
def test_what_is_no_file_of_keys_is_refused_in_one_line(tmp_path: Path, content: str) -> None:
    file = tmp_path / "keys.json"
    file.write_text(content.replace("%s", "00" * 32))
    with pytest.raises(InvalidInput, match=r"keys\.json") as error:
        Keys(file, {})
    assert error.value.remedy


def test_one_name_in_both_places_is_refused(tmp_path: Path) -> None:
    add_key(tmp_path / "k", "a")
    with pytest.raises(InvalidInput, match=f"also in {VARIABLE}"):
        Keys(tmp_path / "k", {VARIABLE: f"a={SECRET}"})


@pytest.mark.parametrize(
    ("host", "must"),
    [("127.0.0.1", False), ("::1", False), ("localhost", False), ("0.0.0.0", True), ("::", True), ("10.0.0.7", True),
     ("example.org", True)],
)  # fmt: skip
def test_keys_are_required_where_others_can_reach_the_server(host: str, must: bool) -> None:
    assert required(host) is must
    require(host, of_environment(SECRET))
    if must:
        with pytest.raises(KeysRequired, match="omniclef keys new") as error:
            require(host, of_environment(""))
        assert "\n" not in str(error.value)
    else:
        require(host, of_environment(""))


def test_the_command_line_makes_lists_and_checks(cli: Cli, tmp_path: Path) -> None:
    file = tmp_path / "keys.json"
    made = cli("keys", "new", "team", "--file", file, "--tokens", "5000")
    assert (made.code, made.err, made.out.count("\n")) == (0, "", 1)
    checked = cli("keys", "check", "--file", file, stdin=made.out.encode())
    assert (checked.code, checked.out) == (0, "team\n")
    listed = cli("keys", "list", "--file", file)
    assert listed.out.splitlines()[1].split() == ["team", "any", "5,000"]
    assert made.out.strip() not in listed.out
    for arguments in (("new", "team"), ("new", "a,b"), ("check",)):
        refused = cli("keys", *arguments, "--file", file, stdin=b"wrong\n")
        assert (refused.code, refused.out, refused.err.count("\n")) == (2, "", 1)
    assert len(Keys(file, {})) == 1
