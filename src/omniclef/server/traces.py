"""Traces for OpenTelemetry (extra ``[otel]``), where ``OTEL_EXPORTER_OTLP_ENDPOINT`` says where to send them.

A request is one span with its parts as children, written when it is over: the engine measures them anyway.
"""

from __future__ import annotations

import os
import time
from typing import Any

from omniclef.engine import Timings
from omniclef.errors import MissingExtra

__all__ = ["Traces", "wanted"]

VARIABLE = "OTEL_EXPORTER_OTLP_ENDPOINT"


def wanted() -> bool:
    return bool(os.environ.get(VARIABLE))


class Traces:
    """Sends spans by OTLP over HTTP, configured by the standard variables; ``provider`` takes the place of that.

    Raises:
        MissingExtra: the packages are not installed.
    """

    def __init__(self, provider: Any = None) -> None:
        try:
            from opentelemetry import trace
            from opentelemetry.exporter.otlp.proto.http.trace_exporter import OTLPSpanExporter
            from opentelemetry.sdk.trace import TracerProvider
            from opentelemetry.sdk.trace.export import BatchSpanProcessor
        except ImportError as error:
            raise MissingExtra(f"tracing to {VARIABLE}", "otel") from error
        self._trace = trace
        self._provider = provider or TracerProvider()
        if provider is None:
            self._provider.add_span_processor(BatchSpanProcessor(OTLPSpanExporter()))
        self._tracer = self._provider.get_tracer("omniclef.server")

    def add(self, name: str, seconds: float, attributes: dict[str, Any], timings: Timings | None) -> None:
        """A request of ``seconds`` that is over now."""
        end = time.time_ns()
        begun = end - int(seconds * 1e9)
        span = self._tracer.start_span(name, start_time=begun, attributes=attributes)
        if timings is not None:
            context, at = self._trace.set_span_in_context(span), begun
            for part in ("decode", "queue", "run"):
                until = at + int(getattr(timings, part) * 1e9)
                self._tracer.start_span(part, context=context, start_time=at).end(until)
                at = until
        span.end(end)

    def close(self) -> None:
        """Sends what waits."""
        self._provider.shutdown()
