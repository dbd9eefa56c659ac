"""Serving: asks from many callers become batches for models that live in processes of their own.

The only place that knows about time. Must not know HTTP.
"""

from omniclef.engine.asks import (
    SERVED,
    Answered,
    Ask,
    Draining,
    EngineLoad,
    EngineSettings,
    Expired,
    Failed,
    Loading,
    ModelLoad,
    Overloaded,
    Refused,
    Timings,
    WorkerLost,
)
from omniclef.engine.engine import Engine

__all__ = [
    "SERVED",
    "Answered",
    "Ask",
    "Draining",
    "Engine",
    "EngineLoad",
    "EngineSettings",
    "Expired",
    "Failed",
    "Loading",
    "ModelLoad",
    "Overloaded",
    "Refused",
    "Timings",
    "WorkerLost",
]
