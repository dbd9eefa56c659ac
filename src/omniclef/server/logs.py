"""Logs: one JSON object a line on standard error. Never a state, a question, a medium or a key."""

from __future__ import annotations

import json
import logging
import sys
from datetime import UTC, datetime
from typing import Any, TextIO

__all__ = ["configure", "event"]

LOGGER = logging.getLogger("omniclef.server")


class Lines(logging.Formatter):
    """``{"time", "level", "logger", "event", ...}``; a traceback becomes the type and place of the error alone."""

    def format(self, record: logging.LogRecord) -> str:
        line: dict[str, Any] = {
            "time": datetime.fromtimestamp(record.created, UTC).isoformat(timespec="milliseconds"),
            "level": record.levelname.lower(),
            "logger": record.name,
            "event": record.getMessage(),
            **getattr(record, "fields", {}),
        }
        if record.exc_info and record.exc_info[1]:
            error = record.exc_info[1]
            # Its text may quote what was sent, so it stays out.
            line["error"] = type(error).__name__
            line["at"] = _places(error)
        return json.dumps(line, default=str)


def configure(level: str = "info", stream: TextIO | None = None) -> None:
    """Sends all logs of this process to ``stream`` (standard error) as JSON lines."""
    handler = logging.StreamHandler(stream or sys.stderr)
    handler.setFormatter(Lines())
    logging.basicConfig(level=level.upper(), handlers=[handler], force=True)


def event(name: str, *, level: int = logging.INFO, error: BaseException | None = None, **fields: object) -> None:
    """Logs ``name`` with its fields."""
    if LOGGER.isEnabledFor(level):
        LOGGER.log(level, name, extra={"fields": fields}, exc_info=error)


def _places(error: BaseException) -> list[str]:
    """File and line of each frame, outermost first."""
    places, frame = [], error.__traceback__
    while frame is not None:
        code = frame.tb_frame.f_code
        places.append(f"{code.co_filename}:{frame.tb_lineno} {code.co_name}")
        frame = frame.tb_next
    return places[-12:]
