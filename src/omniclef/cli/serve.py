"""``omniclef serve``: models behind the HTTP APIs that decision clients speak."""

from __future__ import annotations

import asyncio
import signal
import socket
from pathlib import Path
from typing import Annotated, Literal

import typer

from omniclef.answers import Confidence
from omniclef.errors import InvalidInput, MissingExtra, OmniclefError

__all__ = ["serve"]


def serve(
    model: Annotated[
        list[str] | None,
        typer.Option(
            metavar="[NAME=]MODEL", help="nano, a folder, or owner/name@revision. Repeatable; the first is the default."
        ),
    ] = None,
    host: Annotated[str, typer.Option(help="Address to listen on; all but loopback need keys.")] = "127.0.0.1",
    port: Annotated[int, typer.Option(min=0, max=65535, help="0 takes a free one.")] = 8000,
    threads: Annotated[int | None, typer.Option(min=1, help="For computing, of each model; all cores.")] = None,
    device: Annotated[str, typer.Option(help="For releases: cpu, cuda, cuda:N or mps.")] = "cpu",
    precision: Annotated[
        Literal["float32", "bfloat16", "int8"] | None, typer.Option(help="For releases, of their weights.")
    ] = None,
    window: Annotated[int | None, typer.Option(min=1, help="For releases: most tokens of a request.")] = None,
    keys: Annotated[
        Path | None, typer.Option(metavar="FILE", help="API keys, see omniclef keys; or OMNICLEF_API_KEYS.")
    ] = None,
    usage_log: Annotated[Path | None, typer.Option(metavar="FILE", help="A line for each request.")] = None,
    prices: Annotated[Path | None, typer.Option(metavar="FILE", help="USD per million tokens by model.")] = None,
    confidence: Annotated[
        Confidence | None, typer.Option(help="One formula for all APIs; each has its own otherwise.")
    ] = None,
    rules: Annotated[
        Literal["hosted", "listed"],
        typer.Option(help="Broken rules on /v1/systemone: 400 as TypeSafe's server, or 422 with a list as jevcompat."),
    ] = "hosted",
    timeout: Annotated[float, typer.Option(min=0.1, help="Seconds until an answer.")] = 60.0,
    max_body: Annotated[int, typer.Option(min=1, help="MiB of a request, as sent and when decompressed.")] = 32,
    drain: Annotated[float, typer.Option(min=0.0, help="Seconds for what was accepted, on SIGTERM.")] = 60.0,
    log_level: Annotated[Literal["debug", "info", "warning", "error"], typer.Option(help="Of the JSON log.")] = "info",
) -> None:
    """Serve models over HTTP to TypeSafe, Cloudflare, OpenAI and OpenRouter clients, and a playground at /.

    Prints its address when every model answers. Logs are JSON lines on standard error. SIGTERM stops accepting,
    finishes what was accepted and exits 0.

    \b
    omniclef serve --port 8000
    curl localhost:8000/v1/systemone -H 'content-type: application/json' -d '{"model": "nano",
      "state": "I want my money back.", "questions": {"refund": {"type": "noul", "instructions": "A refund?"}}}'
    """
    try:
        import uvicorn

        from omniclef.server.app import Settings, create_app
    except ImportError as error:
        raise MissingExtra("omniclef serve", "serve") from error
    from omniclef.engine import Engine, Loading
    from omniclef.server import logs, traces
    from omniclef.server.bodies import BodyLimits
    from omniclef.server.keys import Keys, require
    from omniclef.server.prices import Prices
    from omniclef.server.usage import UsageLog
    from omniclef.server.wires import Terms

    known = Keys(keys)
    require(host, known)
    loadings = [
        Loading(name, source, threads, precision, device, window) for name, source in map(_named, model or ["nano"])
    ]
    logs.configure(log_level)
    bound = _bind(host, port)
    failures: list[OmniclefError] = []

    def failed(error: OmniclefError) -> None:
        failures.append(error)
        server.should_exit = True

    address = f"http://{f'[{host}]' if ':' in host else host}:{bound.getsockname()[1]}"
    settings = Settings(
        host=host,
        keys=known,
        terms=Terms(confidence=confidence, timeout=timeout, rules=rules),
        bodies=BodyLimits(body=max_body << 20),
        prices=Prices.read(prices) if prices else Prices(),
        usage=UsageLog(usage_log) if usage_log else None,
        traces=traces.Traces() if traces.wanted() else None,
        drain=drain,
        ready=lambda: typer.echo(f"omniclef: {', '.join(each.name for each in loadings)} at {address}"),
        failed=failed,
    )
    config = uvicorn.Config(
        create_app(Engine(loadings), settings),
        log_config=None,
        access_log=False,
        server_header=False,
        ws="none",
        lifespan="on",
        timeout_keep_alive=30,
        timeout_graceful_shutdown=max(1, round(drain)),
    )
    server = uvicorn.Server(config)
    # uvicorn stops on SIGTERM, and then sends itself the signal again; by then all is done.
    before = signal.signal(signal.SIGTERM, lambda *_: None)
    try:
        asyncio.run(server.serve(sockets=[bound]))
    finally:
        signal.signal(signal.SIGTERM, before)
    if failures:
        raise failures[0]


def _named(text: str) -> tuple[str, str]:
    """``NAME=MODEL``, or a model that is called like the last part of its path."""
    name, equals, source = text.partition("=")
    if equals:
        return name, source
    return Path(text.partition("@")[0].rstrip("/")).name, text


def _bind(host: str, port: int) -> socket.socket:
    family = socket.AF_INET6 if ":" in host else socket.AF_INET
    # asyncio sends without delay only where the protocol is named; otherwise an answer takes 40 ms more.
    bound = socket.socket(family, socket.SOCK_STREAM, socket.IPPROTO_TCP)
    try:
        bound.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        bound.bind((host, port))
        bound.listen(2048)
    except OSError as error:
        bound.close()
        problem = f"{host}:{port} cannot be listened on: {error.strerror or error}"
        raise InvalidInput("--port", problem, "choose another, or 0 for a free one") from None
    return bound
