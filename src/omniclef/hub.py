"""Releases from the model hub: an id with a revision in, a folder out.

Knows huggingface_hub, which resumes, shows progress and keeps what it fetched. Must not know what a folder holds beyond
the kinds of its files. Only weights, configurations and texts are fetched: no code.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from omniclef.errors import MissingExtra, ModelNotFound

__all__ = ["PINNED", "PUBLISHED", "Published", "is_hub_id", "snapshot"]

PINNED = {"Cloudflare/clef-omni": "0db1cd26", "Cloudflare/clef": "2f3de3dd"}
"""Revisions of the published releases that this version was made against."""


@dataclass(frozen=True, slots=True)
class Published:
    """What is known of a published release before it is fetched.

    model: what ``load`` takes. bfloat16: bytes of its weights as published, a round figure.
    """

    name: str
    model: str
    reads: tuple[str, ...]
    bfloat16: int
    licence: str


PUBLISHED = (
    Published(
        "clef-omni",
        "Cloudflare/clef-omni",
        ("text", "image", "audio", "video"),
        63_000_000_000,
        "Apache-2.0 (its code; of the weights, see its card)",
    ),
    Published("clef", "Cloudflare/clef", ("text", "image", "video"), 54_000_000_000, "Apache-2.0"),
    Published("clef-flash", "FOLDER or owner/name@revision", ("text", "image", "video"), 18_000_000_000, "Apache-2.0"),
)
"""The Clef family: 30, 27 and 9 thousand million parameters, of which the first uses 3 a token."""

WANTED = ["*.safetensors", "*.json", "*.txt", "*.jinja", "*.md", "LICENSE", "NOTICE"]

_ID = re.compile(r"[\w-][\w.-]*/[\w-][\w.-]*@[\w./-]+")
_COMMIT = re.compile(r"[0-9a-f]{7,40}")


def is_hub_id(text: str) -> bool:
    """Whether ``text`` reads as ``owner/name@revision``, or is one of ``PINNED``."""
    return text in PINNED or _ID.fullmatch(text) is not None


def snapshot(model: str) -> Path:
    """The folder of ``owner/name@revision``, fetched where it is not here yet.

    Args:
        model: the revision is a commit, whole or its first seven or more digits, or a tag; it may be left out for the
                ids of ``PINNED``. A branch would be another model tomorrow, so none is taken unasked.

    Raises:
        ModelNotFound: it is neither here nor within reach.
        MissingExtra: huggingface_hub comes with [torch].
    """
    name, _, revision = model.partition("@")
    revision = revision or PINNED[name]
    try:
        import huggingface_hub as hub
        import huggingface_hub.constants  # it loads its parts only when they are named
    except ImportError as error:
        raise MissingExtra(f"fetching {name}", "torch") from error
    try:
        kept = _kept(hub, name, revision)
        if kept is not None:
            return kept
        return Path(hub.snapshot_download(name, revision=_commit(hub, name, revision), allow_patterns=WANTED))
    except Exception as error:  # the hub's client answers with errors of three libraries
        reason = " ".join(str(error).split())[:200] or type(error).__name__
        remedy = "connect to the network, or name a folder that holds the release"
        raise ModelNotFound(f"{model}: cannot be fetched ({reason}); {remedy}") from error


def _kept(hub: Any, name: str, revision: str) -> Path | None:
    """The finished download of a commit, so that nothing has to be asked of the network."""
    if not _COMMIT.fullmatch(revision):
        return None
    root = Path(hub.constants.HF_HUB_CACHE) / f"models--{name.replace('/', '--')}" / "snapshots"
    for folder in sorted(root.glob(f"{revision}*")):
        try:
            found = hub.snapshot_download(name, revision=folder.name, allow_patterns=WANTED, local_files_only=True)
        except Exception:
            continue
        # A download that was cut short has a folder too; its largest files are the last to arrive.
        if (Path(found) / "config.json").is_file() and not list(root.parent.glob("blobs/*.incomplete")):
            return Path(found)
    return None


def _commit(hub: Any, name: str, revision: str) -> str:
    """A whole commit from its first digits, which the hub itself does not take."""
    if not _COMMIT.fullmatch(revision) or len(revision) == 40:
        return revision
    client = hub.HfApi()
    client.model_info(name, timeout=10)  # without a network this fails at once, where the next call tries for long
    for commit in client.list_repo_commits(name):
        if commit.commit_id.startswith(revision):
            return str(commit.commit_id)
    return revision
