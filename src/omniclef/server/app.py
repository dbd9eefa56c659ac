"""The application: routes, and the walk of a request from its headers to its answer. Every wire walks the same way.

Knows HTTP and the engine; knows nothing of what a wire's bodies hold, nor of tensors.
"""

from __future__ import annotations

import asyncio
import logging
import time
from collections.abc import AsyncIterator, Callable, Coroutine
from contextlib import asynccontextmanager, suppress
from dataclasses import dataclass, field
from typing import Any, TypeVar

from starlette.applications import Starlette
from starlette.exceptions import HTTPException
from starlette.requests import ClientDisconnect, Request
from starlette.responses import HTMLResponse, Response
from starlette.routing import Route

from omniclef.backbones.base import TokenCount
from omniclef.engine import Answered, Engine, Failed, Refused, Timings
from omniclef.errors import OmniclefError, TooLong
from omniclef.server import playground
from omniclef.server.access import Gate
from omniclef.server.bodies import Bodies, Body, BodyLimits, write_json
from omniclef.server.catalogue import Catalogue
from omniclef.server.identity import request_id
from omniclef.server.keys import Keys
from omniclef.server.limits import Limiter
from omniclef.server.logs import event
from omniclef.server.metrics import Metrics
from omniclef.server.openapi import document, page
from omniclef.server.prices import Prices
from omniclef.server.traces import Traces
from omniclef.server.usage import Usage, UsageLog
from omniclef.server.wires import Asked, Call, Decisions, OpenRouter, SystemOne, Terms, Wire, WorkersAI
from omniclef.server.wires.base import Denied, NoRoute, RateLimited

__all__ = ["Settings", "create_app"]

T = TypeVar("T")

BYTES_A_TOKEN = 4
"""For the limits, before a request is counted; corrected afterwards."""

GONE = 499
"""Status of a caller that went away, as logs and metrics have it."""


@dataclass(frozen=True, slots=True)
class Settings:
    """What a server is besides its engine.

    Attributes:
        host: what it is bound to.
        keys: who may ask; an empty set lets everybody.
        aliases: further names of models.
        terms: of every request.
        bodies: bounds on bodies.
        prices: of input tokens.
        usage: where requests are written down, if anywhere.
        traces: where spans go, if anywhere.
        drain: seconds for what was accepted when the server stops.
        ready, failed: called when the models answer, or cannot be loaded.
    """

    host: str = "127.0.0.1"
    keys: Keys = field(default_factory=lambda: Keys(environment={}))
    aliases: dict[str, str] = field(default_factory=dict)
    terms: Terms = field(default_factory=Terms)
    bodies: BodyLimits = field(default_factory=BodyLimits)
    prices: Prices = field(default_factory=Prices)
    usage: UsageLog | None = None
    traces: Traces | None = None
    drain: float = 60.0
    ready: Callable[[], None] = lambda: None
    failed: Callable[[OmniclefError], None] = lambda error: None


def create_app(engine: Engine, settings: Settings | None = None) -> Starlette:
    """The application around ``engine``, which it starts and stops."""
    server = _Server(engine, settings or Settings())
    app = Starlette(
        routes=server.routes(),
        lifespan=server.lifespan,
        exception_handlers={HTTPException: server.no_route, Exception: server.broken},
    )
    app.router.redirect_slashes = False
    return app


@dataclass(slots=True)
class _Walk:
    """What is known of a request so far, for the log."""

    route: str
    call: Call
    began: float
    asked: Asked | None = None
    tokens: TokenCount | None = None
    longest: int | None = None
    timings: Timings | None = None
    status: int = 200
    problem: str = ""


class _Server:
    def __init__(self, engine: Engine, settings: Settings) -> None:
        self.engine, self.settings = engine, settings
        names = tuple(engine.load().models)
        self.catalogue = Catalogue(names, engine.models, settings.aliases, settings.prices)
        self.bodies, self.gate = Bodies(settings.bodies), Gate(settings.host)
        self.limiter = Limiter(settings.keys.limits)
        self.metrics = Metrics(engine, settings.usage)
        self.systemone = SystemOne(self.catalogue, settings.terms)
        self.workers_ai = WorkersAI(self.catalogue, settings.terms)
        self.decisions = Decisions(self.catalogue, settings.terms)
        self.openrouter = OpenRouter(self.catalogue, settings.terms)
        self.started = False
        self.document = write_json(document(self.catalogue.pattern()))

    # Routes

    def routes(self) -> list[Route]:
        asks: list[tuple[str, Wire]] = [
            ("/v1/systemone", self.systemone),
            ("/client/v4/accounts/{account}/ai/run/{model:path}", self.workers_ai),
            ("/accounts/{account}/ai/run/{model:path}", self.workers_ai),
            ("/v1/decisions", self.decisions),
            ("/api/alpha/decisions", self.openrouter),
            ("/alpha/decisions", self.openrouter),
            ("/api/v1/systemone", self.openrouter),
        ]
        plain: list[tuple[str, Callable[[Request], Coroutine[Any, Any, Response]]]] = [
            ("/v1/models", self.list_models),
            ("/api/v1/models", self.list_models),
            ("/health", self.health),
            ("/healthz", self.health),
            ("/ready", self.ready),
            ("/metrics", self.show_metrics),
            ("/openapi.json", self.show_document),
            ("/docs", self.show_page),
        ]
        shown = [route for route in playground.routes() if isinstance(route, Route)]
        return [
            *(Route(path, self._asking(path, wire), methods=["POST"]) for path, wire in asks),
            Route("/v1/systemone/input_tokens", self._counting("/v1/systemone/input_tokens"), methods=["POST"]),
            *(Route(path, self._gated(endpoint), methods=["GET"]) for path, endpoint in plain),
            *(Route(route.path, self._gated(route.endpoint), methods=["GET"], name=route.name) for route in shown),
        ]

    def _asking(self, path: str, wire: Wire) -> Callable[[Request], Coroutine[Any, Any, Response]]:
        async def decide(walk: _Walk, asked: Asked) -> dict[str, Any]:
            answered: Answered = await self.engine.decide(asked.ask)
            walk.tokens, walk.timings = answered.tokens, answered.timings
            if asked.ask.states:
                walk.longest = max(decision.usage.input_tokens for decision in answered.decisions)
            return wire.show(asked, answered, walk.call)

        async def endpoint(request: Request) -> Response:
            return await self._walk(request, path, wire, decide)

        return endpoint

    def _counting(self, path: str) -> Callable[[Request], Coroutine[Any, Any, Response]]:
        async def count(walk: _Walk, asked: Asked) -> dict[str, Any]:
            return self.systemone.show_count(asked, await self.engine.count(asked.ask))

        async def endpoint(request: Request) -> Response:
            return await self._walk(request, path, self.systemone, count)

        return endpoint

    def _gated(
        self, endpoint: Callable[[Request], Coroutine[Any, Any, Response]]
    ) -> Callable[[Request], Coroutine[Any, Any, Response]]:
        async def call(request: Request) -> Response:
            wire, around = self._wire(request.url.path), Call(request_id())
            try:
                self.gate.check(request.headers.get("host"), request.headers.get("origin"))
                return await endpoint(request)
            except OmniclefError as error:
                return _refused(wire, error, around, None)

        return call

    # A question's walk

    async def _walk(
        self,
        request: Request,
        path: str,
        wire: Wire,
        work: Callable[[_Walk, Asked], Coroutine[Any, Any, dict[str, Any]]],
    ) -> Response:
        selector = request.path_params.get("model", "")
        walk = _Walk(path, Call(request_id(), "", selector), time.perf_counter())
        taken = 0
        try:
            walk.call = Call(walk.call.id, self.admit(request), selector)
            if not self.started:
                raise Refused("the models are still loading", 1.0)
            async with self.bodies.read(request) as body:
                walk.asked = wire.parse(body, walk.call)
                taken = self._take(walk.call.tenant, body)
                content = write_json(await _unless_gone(request, work(walk, walk.asked)))
            response = Response(content, 200, wire.headers(walk.call), "application/json")
        except ClientDisconnect:
            response = Response(status_code=GONE)
        except OmniclefError as error:
            if isinstance(error, TooLong):
                walk.tokens = TokenCount(text=error.tokens)
            response = self._refuse(wire, error, walk)
        except Exception as error:
            event("broken", level=logging.ERROR, error=error, id=walk.call.id, route=path)
            response = self._refuse(wire, Failed("something inside broke; the log has more"), walk)
        walk.status = response.status_code
        self.record(walk, taken)
        return response

    def admit(self, request: Request) -> str:
        """The name of the key of ``request``, before anything of its body is read.

        Raises:
            Foreign: a page from elsewhere asks.
            Denied: there is no key, or an unknown one, where one is needed.
        """
        self.gate.check(request.headers.get("host"), request.headers.get("origin"))
        if not len(self.settings.keys):
            return ""
        scheme, _, key = request.headers.get("authorization", "").partition(" ")
        if scheme.lower() != "bearer" or not key.strip():
            raise Denied(missing=True)
        tenant = self.settings.keys.tenant(key.strip())
        if tenant is None:
            raise Denied(missing=False)
        return tenant

    def _take(self, tenant: str, body: Body) -> int:
        estimate = max(1, body.size // BYTES_A_TOKEN)
        wait = self.limiter.admit(tenant, estimate, time.monotonic())
        if wait is not None:
            raise RateLimited(wait)
        return estimate

    def _refuse(self, wire: Wire, error: OmniclefError, walk: _Walk) -> Response:
        walk.problem = type(error).__name__
        return _refused(wire, error, walk.call, walk.asked)

    def record(self, walk: _Walk, taken: int) -> None:
        """Writes down what became of a request: limits, metrics, usage, traces and log."""
        seconds = time.perf_counter() - walk.began
        model = walk.asked.ask.model if walk.asked else ""
        call, tokens, answered = walk.call, walk.tokens or TokenCount(), walk.status == 200
        if taken:
            self.limiter.settle(call.tenant, taken, tokens.total if answered else 0, time.monotonic())
        self.metrics.add(walk.route, model, walk.status)
        if walk.timings is not None:
            self.metrics.answered(call.tenant, model, tokens, walk.timings, seconds)
        if self.settings.usage is not None:
            cost = self.settings.prices.cost(model, tokens) if answered else 0
            began = time.time() - seconds
            about = (began, call.id, call.tenant, model, walk.route, walk.status)
            self.settings.usage.add(Usage(*about, walk.tokens, walk.longest, cost, walk.timings))
        said: dict[str, Any] = {
            "id": call.id,
            "route": walk.route,
            "status": walk.status,
            "model": model,
            "tenant": call.tenant,
        }
        if self.settings.traces is not None:
            self.settings.traces.add(f"POST {walk.route}", seconds, said, walk.timings)
        if walk.problem:
            said["problem"] = walk.problem
        event("request", **said, tokens=tokens.total, ms=round(1000 * seconds, 2))

    # Other routes

    async def list_models(self, request: Request) -> Response:
        self.admit(request)
        return _json(self.catalogue.listing())

    async def health(self, request: Request) -> Response:
        """The process answers."""
        return _json({"status": "ok"})

    async def ready(self, request: Request) -> Response:
        """Every model answers."""
        models = {name: busy.ready for name, busy in self.engine.load().models.items()}
        ready = self.started and self.engine.ready()
        body = {"status": "ready" if ready else "not ready", "models": models}
        return _json(body, 200 if ready else 503, {} if ready else {"retry-after": "1"})

    async def show_metrics(self, request: Request) -> Response:
        self.admit(request)
        return Response(self.metrics.render(), media_type="text/plain; version=0.0.4; charset=utf-8")

    async def show_document(self, request: Request) -> Response:
        return Response(self.document, media_type="application/json")

    async def show_page(self, request: Request) -> Response:
        policy = "default-src 'none'; style-src 'unsafe-inline'; frame-ancestors 'none'"
        return HTMLResponse(page(), headers={"content-security-policy": policy, "x-content-type-options": "nosniff"})

    async def no_route(self, request: Request, error: Exception) -> Response:
        """Nothing is at a path, or not by this method, in the shape of the wire that is nearest."""
        assert isinstance(error, HTTPException)
        wire, call = self._wire(request.url.path), Call(request_id())
        allow = (error.headers or {}).get("Allow", "") if error.status_code == 405 else ""
        return _refused(wire, NoRoute(allow), call, None)

    async def broken(self, request: Request, error: Exception) -> Response:
        """Any other route broke."""
        call = Call(request_id())
        event("broken", level=logging.ERROR, error=error, id=call.id)
        return _refused(self._wire(request.url.path), Failed("something inside broke"), call, None)

    def _wire(self, path: str) -> Wire:
        if path.startswith(("/client/", "/accounts/")):
            return self.workers_ai
        if path.startswith(("/api/", "/alpha/")):
            return self.openrouter
        return self.decisions if path.startswith("/v1/decisions") else self.systemone

    # Start and stop

    @asynccontextmanager
    async def lifespan(self, app: Starlette) -> AsyncIterator[None]:
        """The engine starts while the server already tells that it is not ready, and stops after the last answer."""
        starting = asyncio.create_task(self._start())
        try:
            yield
        finally:
            starting.cancel()
            with suppress(asyncio.CancelledError):
                await starting
            drained = await self.engine.drain(self.settings.drain)
            await self.engine.close()
            if self.settings.usage is not None:
                await asyncio.to_thread(self.settings.usage.close)
            if self.settings.traces is not None:
                await asyncio.to_thread(self.settings.traces.close)
            event("stopped", drained=drained)

    async def _start(self) -> None:
        try:
            await self.engine.start()
        except OmniclefError as error:
            event("not_started", level=logging.ERROR, problem=str(error))
            self.settings.failed(error)
            return
        self.started = True
        event("ready", models=list(self.catalogue.names))
        self.settings.ready()


async def _unless_gone(request: Request, work: Coroutine[Any, Any, T]) -> T:
    """The result of ``work``, which is given up when the caller goes away.

    Raises:
        ClientDisconnect: it did.
    """
    task, gone = asyncio.ensure_future(work), asyncio.ensure_future(_disconnected(request))
    try:
        await asyncio.wait({task, gone}, return_when=asyncio.FIRST_COMPLETED)
        if not task.done():
            raise ClientDisconnect
        return task.result()
    finally:
        gone.cancel()
        if not task.done():
            task.cancel()
            with suppress(asyncio.CancelledError):
                await task


async def _disconnected(request: Request) -> None:
    while (await request.receive())["type"] != "http.disconnect":
        pass


def _refused(wire: Wire, error: OmniclefError, call: Call, asked: Asked | None) -> Response:
    reply = wire.fail(error, call, asked)
    return _json(reply.body, reply.status, {**wire.headers(call), **reply.headers})


def _json(body: dict[str, Any], status: int = 200, headers: dict[str, str] | None = None) -> Response:
    return Response(write_json(body), status, headers, "application/json")
