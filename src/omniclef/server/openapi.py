"""The OpenAPI document of all routes, and the page that lists them. Written by hand: a schema per body, once."""

from __future__ import annotations

import html
from typing import Any

from omniclef import __version__

__all__ = ["document", "page"]

Schema = dict[str, Any]

TEXT_LIKE: Schema = {
    "description": "Text, or JSON that the model reads as text.",
    "anyOf": [{"type": "string"}, {"type": "object"}, {"type": "array"}],
}
COUNT: Schema = {"type": "integer", "minimum": 0}
SHARE: Schema = {"type": "number", "minimum": 0, "maximum": 1}


def _ref(name: str) -> Schema:
    return {"$ref": f"#/components/schemas/{name}"}


def _object(required: str, /, **properties: Schema) -> Schema:
    return {"type": "object", "required": required.split(), "properties": properties}


def _maybe(schema: Schema) -> Schema:
    return {"anyOf": [schema, {"type": "null"}]}


def _list(schema: Schema, least: int = 0, most: int | None = None) -> Schema:
    bounds = {"minItems": least} if most is None else {"minItems": least, "maxItems": most}
    return {"type": "array", "items": schema, **bounds}


def _map(schema: Schema, least: int = 0, most: int | None = None) -> Schema:
    bounds = {"minProperties": least} if most is None else {"minProperties": least, "maxProperties": most}
    return {"type": "object", "additionalProperties": schema, **bounds}


def _const(value: str) -> Schema:
    return {"type": "string", "const": value}


MEDIUM: Schema = {
    "description": "A data URL, or its parts. Addresses and paths are refused: nothing is fetched.",
    "anyOf": [
        {"type": "string", "pattern": "^[Dd][Aa][Tt][Aa]:"},
        _object(
            "content_type base64",
            content_type={"type": "string", "pattern": "^[a-z]+/[a-z0-9.+-]+$"},
            base64={"type": "string"},
        ),
    ],
}
MEDIA = {name: _maybe(_list(MEDIUM)) for name in ("images", "audio", "videos")}

EXTENSIONS: dict[str, Schema] = {
    "x_model_digest": {"type": "string", "description": "Models with one digest answer alike."},
    "x_tokens": _ref("Tokens"),
    "x_timings": _map({"type": "number", "minimum": 0}),
    "x_cached_tokens": COUNT,
    "x_state_tokens_dropped": COUNT,
    "x_truncated": {"type": "boolean"},
    "x_evidence": {"description": "By question, then by option: pieces of the input, heaviest first."},
}


def _schemas(models: str) -> dict[str, Schema]:
    text, instructions = {"type": "string"}, _maybe(_ref("TextLike"))
    model = {"type": "string", "pattern": models}
    named = {"propertyNames": {"minLength": 1}}
    asked = {"type": "string", "minLength": 1}
    asset = _object(
        "type",
        type=_const("image"),
        format={"enum": ["png", "jpg", "jpeg"]},
        data_base64=text,
        part={**text, "description": "Name of a multipart part, in place of data_base64."},
    )
    system_one = {
        "questions": {**_map(_ref("Question"), 1), **named},
        **MEDIA,
        "x_evidence": _maybe({"type": "boolean"}),
    }
    answers = _map(_ref("Answer"))
    usage = _object("input_tokens output_tokens", input_tokens=COUNT, output_tokens=COUNT)
    probabilities = _map(SHARE, 1)
    open_ai_share = {"probability": SHARE, "value": {"anyOf": [text, {"type": "boolean"}, {"type": "integer"}]}}
    parts = {"anyOf": [asked, _list({"type": "object"}, 1)]}
    cloudflare_errors = _list(_object("code message", code={"type": "integer"}, message=text))
    return {
        "TextLike": TEXT_LIKE,
        "Noul": {
            **_object(
                "type",
                type=_const("noul"),
                instructions=instructions,
                criteria=_maybe({"type": "object", "properties": {"true": instructions, "false": instructions}}),
            ),
            "description": "Has instructions, or criteria that say something.",
        },
        "Choice": _object(
            "type criteria", type=_const("choice"), instructions=instructions, criteria=_map(instructions, 1, 255)
        ),
        "Score": _object(
            "type criteria", type=_const("score"), instructions=instructions, criteria=_list(_ref("TextLike"), 1, 10)
        ),
        "Question": {
            "oneOf": [_ref("Noul"), _ref("Choice"), _ref("Score")],
            "discriminator": {
                "propertyName": "type",
                "mapping": {name.lower(): f"#/components/schemas/{name}" for name in ("Noul", "Choice", "Score")},
            },
        },
        "Asset": asset,
        "SystemOneRequest": {
            **_object(
                "model questions",
                model=model,
                state={},
                **system_one,
                assets=_maybe(_map(_ref("Asset"), 1)),
                x_truncate=_maybe({"type": "boolean", "description": "Cut the end off a state that is too long."}),
                x_states=_maybe({**_list(_ref("TextLike"), 1, 64), "description": "Several states in place of one."}),
            ),
            "anyOf": [
                _object("state", state=_ref("TextLike")),
                _object("x_states", x_states=_list(_ref("TextLike"), 1, 64)),
            ],
        },
        "WorkersAIRequest": _object("state questions", model=_maybe(text), state=_ref("TextLike"), **system_one),
        "DecisionsRequest": _object(
            "model input questions",
            model=model,
            input={"anyOf": [text, _list({"type": "object"}, 1)]},
            questions=_list(_ref("ListedQuestion"), 1, 400),
            x_evidence={"type": "boolean"},
        ),
        "ListedQuestion": {
            "oneOf": [
                _object("type instructions", type=_const("predicate"), name=text, instructions=parts),
                _object(
                    "type instructions choices",
                    type=_const("choice"),
                    name=text,
                    instructions=parts,
                    choices={**_list(_ref("ListedChoice"), 2, 255), "uniqueItems": True},
                ),
                _object(
                    "type instructions levels",
                    type=_const("score"),
                    name=text,
                    instructions=parts,
                    levels=_list(_object("label", label=text, description=text), 1, 10),
                ),
            ]
        },
        "ListedChoice": _object("value", value={"anyOf": [text, {"type": "boolean"}]}, description=text),
        "Tokens": _object("text image audio video", text=COUNT, image=COUNT, audio=COUNT, video=COUNT),
        "Answer": {
            "oneOf": [
                _object("type noul", type=_const("noul"), noul=SHARE),
                _object(
                    "type choice confidence probabilities",
                    type=_const("choice"),
                    choice=text,
                    confidence=SHARE,
                    probabilities=probabilities,
                ),
                _object(
                    "type score confidence legend probabilities",
                    type=_const("score"),
                    score={"type": "number", "minimum": 0, "maximum": 9},
                    confidence=SHARE,
                    legend=_map(_ref("TextLike"), 1),
                    probabilities=probabilities,
                ),
            ]
        },
        "SystemOneResponse": _object(
            "model answers usage", model=text, answers=answers, usage=usage, x_answers=_list(answers), **EXTENSIONS
        ),
        "CountResponse": _object(
            "model input_tokens x_tokens", model=text, input_tokens=COUNT, x_tokens=_ref("Tokens")
        ),
        "WorkersAIResponse": _object(
            "result success errors messages",
            result=_object("model answers usage", model=text, answers=answers, usage=usage, **EXTENSIONS),
            success={"const": True},
            errors=cloudflare_errors,
            messages=_list({}),
        ),
        "OpenRouterResponse": _object(
            "id model provider answers usage",
            id=text,
            model=text,
            provider=text,
            answers=answers,
            x_answers=_list(answers),
            usage=_object(
                "input_tokens output_tokens cost",
                input_tokens=COUNT,
                output_tokens=COUNT,
                cost={"type": "number", "minimum": 0},
            ),
            **EXTENSIONS,
        ),
        "DecisionsResponse": _object(
            "model answers usage",
            model=text,
            answers=_list(
                _object(
                    "type name",
                    type={"enum": ["predicate", "choice", "score"]},
                    name=_maybe(text),
                    probability=SHARE,
                    choice={"anyOf": [text, {"type": "boolean"}]},
                    score={"type": "number", "minimum": 0},
                    confidence=SHARE,
                    probabilities=_list(_object("value probability", label=text, **open_ai_share)),
                ),
                1,
            ),
            usage=_object(
                "input_tokens input_tokens_details output_tokens output_tokens_details total_tokens",
                input_tokens=COUNT,
                input_tokens_details=_object(
                    "cached_tokens cache_write_tokens", cached_tokens=COUNT, cache_write_tokens=COUNT
                ),
                output_tokens=COUNT,
                output_tokens_details=_object("reasoning_tokens", reasoning_tokens=COUNT),
                total_tokens=COUNT,
            ),
            **EXTENSIONS,
        ),
        "Models": _object(
            "models object data",
            models=_list(_object("name description release_date", name=text, description=text, release_date=text)),
            object=_const("list"),
            data=_list(_object("id object created owned_by", id=text, object=text, created=COUNT, owned_by=text)),
        ),
        "Health": _object("status", status=text, models=_map({"type": "boolean"})),
        "SystemOneError": _object(
            "detail",
            detail={
                "anyOf": [
                    text,
                    _object("error_type message", error_type=text, message=text),
                    _list(
                        _object(
                            "type loc msg",
                            type=text,
                            loc=_list({"anyOf": [text, {"type": "integer"}]}),
                            msg=text,
                            ctx={"type": "object"},
                        ),
                        1,
                    ),
                ]
            },
        ),
        "WorkersAIError": _object(
            "errors success result messages",
            errors=cloudflare_errors,
            success={"const": False},
            result=_maybe({"type": "object"}),
            messages=_list({}),
        ),
        "OpenRouterError": _object(
            "error",
            error=_object("code message", code={"type": "integer"}, message=text, metadata={"type": "object"}),
        ),
        "DecisionsError": _object(
            "error", error=_object("message type", message=text, type=text, param=_maybe(text), code=_maybe(text))
        ),
    }


STATUSES = {
    "SystemOne": "400 401 403 405 408 413 415 422 429 500 503 529",
    "WorkersAI": "400 401 403 405 408 413 415 422 429 500 529",
    "OpenRouter": "400 401 403 404 405 413 429 500 503 524 529",
    "Decisions": "400 401 403 404 405 408 413 415 429 500 503",
}


def _json(name: str, description: str) -> dict[str, Any]:
    return {"description": description, "content": {"application/json": {"schema": _ref(name)}}}


def _ask(
    wire: str, summary: str, *, request: str = "", response: str = "", parameters: tuple[str, ...] = ()
) -> dict[str, Any]:
    body: dict[str, Any] = {"application/json": {"schema": _ref(request or f"{wire}Request")}}
    if not request or request == "SystemOneRequest":
        body["multipart/form-data"] = {
            "schema": _object("request", request=_ref(request or f"{wire}Request")),
            "encoding": {"request": {"contentType": "application/json"}},
        }
    responses = {"200": _json(response or f"{wire}Response", "The answers.")}
    responses |= {status: _json(f"{wire}Error", "A refusal.") for status in STATUSES[wire].split()}
    operation: dict[str, Any] = {
        "summary": summary,
        "requestBody": {"required": True, "content": body},
        "responses": responses,
        "security": [{}, {"bearer": []}],
    }
    if parameters:
        operation["parameters"] = [
            {"name": name, "in": "path", "required": True, "schema": {"type": "string", "minLength": 1}}
            for name in parameters
        ]
    return {"post": operation}


def _get(summary: str, response: dict[str, Any], **others: dict[str, Any]) -> dict[str, Any]:
    refusals = {status: _json("SystemOneError", "A refusal.") for status in ("401", "403")}
    responses = {"200": response, **refusals, **{name.strip("_"): other for name, other in others.items()}}
    return {"get": {"summary": summary, "responses": responses, "security": [{}, {"bearer": []}]}}


def document(models: str = ".+") -> dict[str, Any]:
    """The OpenAPI 3.1 document. ``models`` is a pattern of their names."""
    any_text = {"description": "Text.", "content": {"text/plain": {"schema": {"type": "string"}}}}
    any_page = {"description": "A page.", "content": {"text/html": {"schema": {"type": "string"}}}}
    any_json = {"description": "JSON.", "content": {"application/json": {"schema": {"type": "object"}}}}
    run, account = "/ai/run/{model}", ("account", "model")
    listed = _get("The models", _json("Models", "In both shapes that clients read."))
    models_by_router = _get("The models", _json("Models", "In both shapes that clients read."))
    for status in ("401", "403"):
        models_by_router["get"]["responses"][status] = _json("OpenRouterError", "A refusal.")
    openrouter = "SystemOneRequest"
    return {
        "openapi": "3.1.0",
        "info": {
            "title": "omniclef",
            "version": __version__,
            "description": "Typed decisions about text, images, sound and video. Bodies may be gzip or zstd.",
        },
        "paths": {
            "/v1/systemone": _ask("SystemOne", "Answer questions (TypeSafe)"),
            "/v1/systemone/input_tokens": _ask(
                "SystemOne", "Count the input tokens of a request", response="CountResponse"
            ),
            "/v1/models": listed,
            "/client/v4/accounts/{account}" + run: _ask(
                "WorkersAI", "Answer questions (Cloudflare)", request="WorkersAIRequest", parameters=account
            ),
            "/accounts/{account}" + run: _ask(
                "WorkersAI", "The same without a prefix", request="WorkersAIRequest", parameters=account
            ),
            "/v1/decisions": _ask("Decisions", "Answer questions (OpenAI)", request="DecisionsRequest"),
            "/api/alpha/decisions": _ask("OpenRouter", "Answer questions (OpenRouter)", request=openrouter),
            "/alpha/decisions": _ask("OpenRouter", "The same without a prefix", request=openrouter),
            "/api/v1/systemone": _ask("OpenRouter", "The same as System One", request=openrouter),
            "/api/v1/models": models_by_router,
            "/health": _get("The process answers", _json("Health", "It does.")),
            "/healthz": _get("The process answers", _json("Health", "It does.")),
            "/ready": _get("Every model answers", _json("Health", "They do."), _503=_json("Health", "One does not.")),
            "/metrics": _get("Figures for Prometheus", any_text),
            "/openapi.json": _get("This document", any_json),
            "/docs": _get("A list of the routes", any_page),
        },
        "components": {
            "schemas": _schemas(models),
            "securitySchemes": {"bearer": {"type": "http", "scheme": "bearer"}},
        },
    }


PAGE = """<!doctype html>
<html lang="en"><head><meta charset="utf-8"><meta name="viewport" content="width=device-width">
<title>omniclef API</title><style>
:root {{ color-scheme: light dark }}
body {{ font: 16px/1.5 system-ui, sans-serif; max-width: 60rem; margin: 2rem auto; padding: 0 1rem }}
table {{ border-collapse: collapse }} td {{ padding: .3rem 1rem .3rem 0; vertical-align: top }}
pre {{ overflow-x: auto; padding: 1rem; border: 1px solid gray }}
</style></head><body><h1>omniclef API</h1>
<p>Version {version}. <a href="openapi.json">openapi.json</a> has every field; <a href="./">the playground</a> asks by
hand.</p><table>{rows}</table><h2>A request</h2><pre>{example}</pre></body></html>
"""

EXAMPLE = """curl localhost:8000/v1/systemone -H 'content-type: application/json' -d '{
  "model": "nano",
  "state": "I was charged twice. I want my money back.",
  "questions": {
    "team": {"type": "choice", "criteria": {"billing": "payments, refunds", "technical": null}},
    "refund": {"type": "noul", "instructions": "Does the customer ask for money back?"}
  }
}'"""


def page() -> str:
    """Routes with what they are for, as HTML."""
    rows = [
        f"<tr><td><code>{method.upper()} {html.escape(path)}</code></td><td>{operation['summary']}</td></tr>"
        for path, methods in document()["paths"].items()
        for method, operation in methods.items()
    ]
    return PAGE.format(version=__version__, rows="".join(rows), example=html.escape(EXAMPLE))
