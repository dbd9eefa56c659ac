"""Spans of requests, as the exporter gets them."""

from __future__ import annotations

from opentelemetry.sdk.trace import TracerProvider
from opentelemetry.sdk.trace.export import SimpleSpanProcessor
from opentelemetry.sdk.trace.export.in_memory_span_exporter import InMemorySpanExporter

from omniclef.engine import Timings
from omniclef.server.traces import Traces


def test_a_request_is_a_span_with_its_parts_one_after_the_other() -> None:
    exporter, provider = InMemorySpanExporter(), TracerProvider()
    provider.add_span_processor(SimpleSpanProcessor(exporter))
    traces = Traces(provider)
    traces.add("POST /v1/systemone", 0.5, {"status": 200}, Timings(0.1, 0.05, 0.3, 0.45))
    *parts, whole = exporter.get_finished_spans()
    assert [part.name for part in parts] == ["decode", "queue", "run"]
    assert all(part.parent and part.parent.span_id == whole.context.span_id for part in parts)
    assert [round((part.end_time - part.start_time) / 1e9, 3) for part in parts] == [0.1, 0.05, 0.3]
    assert parts[0].start_time == whole.start_time
    assert parts[1].start_time == parts[0].end_time
    assert round((whole.end_time - whole.start_time) / 1e9, 3) == 0.5
    assert whole.attributes == {"status": 200}
    traces.add("POST /v1/decisions", 0.1, {"status": 400}, None)
    assert len(exporter.get_finished_spans()) == 5
    traces.close()
