"""Figures for Prometheus: what was asked and answered, how long each part took, and how busy the engine is."""

from __future__ import annotations

from collections.abc import Iterator

from prometheus_client import CollectorRegistry, Counter, Histogram, generate_latest
from prometheus_client.core import CounterMetricFamily, GaugeMetricFamily, Metric
from prometheus_client.registry import Collector

from omniclef.backbones.base import TokenCount
from omniclef.engine import Engine, Timings
from omniclef.server.usage import UsageLog
from omniclef.server.wires.base import tokens_of

__all__ = ["Metrics"]

BUCKETS = (0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 10, 30, 60)


class Metrics:
    """Metrics of one server, in a registry of their own."""

    def __init__(self, engine: Engine, log: UsageLog | None = None) -> None:
        self._registry = CollectorRegistry()
        self._requests = Counter(
            "omniclef_requests", "Requests by status.", ("route", "model", "status"), registry=self._registry
        )
        self._tokens = Counter(
            "omniclef_input_tokens",
            "Input tokens of answered requests, by the name of the key.",
            ("tenant", "model", "modality"),
            registry=self._registry,
        )
        self._seconds = Histogram(
            "omniclef_seconds",
            "Seconds of an answered request: decode, queue, run (backbone and head of its batch), total in the engine, "
            "request in the server.",
            ("stage", "model", "modality"),
            buckets=BUCKETS,
            registry=self._registry,
        )
        self._registry.register(_Busy(engine, log))

    def add(self, route: str, model: str, status: int) -> None:
        """A request was answered with ``status``. ``model`` is an engine's name, or empty: labels must be few."""
        self._requests.labels(route, model, str(status)).inc()

    def answered(self, tenant: str, model: str, tokens: TokenCount, timings: Timings, seconds: float) -> None:
        """What a request cost that got its answer; ``seconds`` as the server saw it."""
        for modality, count in tokens_of(tokens).items():
            if count:
                self._tokens.labels(tenant, model, modality).inc(count)
        stages = {
            "decode": timings.decode,
            "queue": timings.queue,
            "run": timings.run,
            "total": timings.total,
            "request": seconds,
        }
        for stage, value in stages.items():
            self._seconds.labels(stage, model, tokens.medium).observe(value)

    def render(self) -> bytes:
        """The text format of Prometheus."""
        return generate_latest(self._registry)


class _Busy(Collector):
    """What is read at the moment of asking."""

    def __init__(self, engine: Engine, log: UsageLog | None) -> None:
        self._engine, self._log = engine, log

    def collect(self) -> Iterator[Metric]:
        load = self._engine.load()
        for name, text, of in (
            ("ready", "Whether the model answers.", "ready"),
            ("waiting", "Requests in the queue.", "waiting"),
            ("waiting_tokens", "Tokens in the queue, by estimate.", "waiting_tokens"),
            ("running", "Requests in the batch that runs.", "running"),
            ("tokens_per_second", "Measured over the last batches.", "tokens_per_second"),
        ):
            family = GaugeMetricFamily(f"omniclef_{name}", text, labels=("model",))
            for model, busy in load.models.items():
                family.add_metric([model], float(getattr(busy, of)))
            yield family
        restarts = CounterMetricFamily("omniclef_worker_restarts", "Workers that were lost.", labels=("model",))
        for model, busy in load.models.items():
            restarts.add_metric([model], busy.restarts)
        yield restarts
        yield GaugeMetricFamily("omniclef_decoding", "Requests whose media are decoded or wait for it.", load.decoding)
        yield GaugeMetricFamily("omniclef_media_bytes", "Decoded media that wait for an answer.", load.media_bytes)
        yield CounterMetricFamily("omniclef_decoder_restarts", "Decoders that were lost.", load.decoder_restarts)
        if self._log is not None:
            counts = self._log.counts()
            yield CounterMetricFamily("omniclef_usage_lines_lost", "Lines the usage log had no room for.", counts.lost)
            yield GaugeMetricFamily("omniclef_usage_lines_waiting", "Lines that were not written.", counts.waiting)
