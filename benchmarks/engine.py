"""How fast a released network is run on a CPU: batches, remembered states, FLOP/s and memory, in one run.

    python benchmarks/engine.py [--repeats N] [--threads N] [--tiny] [--json FILE] [--markdown FILE]

Needs the extra [torch] and ``pip install --no-deps ollajev==0.4.0``. The network is random, of the class of Clef-omni,
with the real vocabulary and a quarter of a billion parameters; the publisher's code runs on the same tensors.
Contestants take turns, and the fastest turn of each counts: what else a machine does only ever adds time.
"""

from __future__ import annotations

import argparse
import json
import os
import subprocess
import sys
import time
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

import numpy as np
import torch
from report import Sheet, cores, hardware, markdown, show, versions
from rich.console import Console
from samples import picture, recording
from thinker import QUESTIONS, Thinker

import omniclef
from omniclef.backbones.qwen.prompt import Prompt
from omniclef.model import read_record
from omniclef.records import Question, Record

sys.path.insert(0, str(Path(__file__).parent.parent / "tests" / "media"))
import tiny_release
from encoded_media import clip, steady, tone

HERE = Path(__file__).parent
ASKED = {
    "refund": {"type": "noul", "instructions": "Money back?"},
    "team": {"type": "choice", "criteria": {"billing": None, "sales": None, "support": None}, "instructions": "Which?"},
    "urgent": {"type": "score", "criteria": ["no", "soon", "now"], "instructions": "How urgent?"},
}
OTHERS: dict[str, Question] = {
    "angry": omniclef.Noul("Is the customer angry?"),
    "channel": omniclef.Choice({"phone": None, "mail": None, "shop": None, "app": None}, "Where did it happen?"),
}
LONG = 4096
MEMORY = 1 << 30

Run = Callable[[], Any]


def alternating(runs: Sequence[Run], repeats: int) -> list[list[float]]:
    """Seconds of each, in turns, after a turn that does not count."""
    taken: list[list[float]] = [[] for _ in runs]
    for repeat in range(-1, repeats):
        for run, found in zip(runs, taken, strict=True):
            start = time.perf_counter()
            run()
            if repeat >= 0:
                found.append(time.perf_counter() - start)
    return taken


def mixed(thinker: Thinker, tiny: bool) -> list[dict[str, Any]]:
    """32 requests as the publisher's code takes them: 16 texts, 6 with a picture, 5 with a sound, 5 with a clip of
    which 3 have a sound. Media are encoded."""
    rng = np.random.default_rng(0)
    lengths = rng.integers(300, 500 if tiny else 900, 16).tolist()
    requests: list[dict[str, Any]] = [{"state": thinker.state(length, seed)} for seed, length in enumerate(lengths)]
    for seed in range(16):
        requests.append({"state": thinker.state(300, 100 + seed)})
    for request in requests[16:22]:
        request["images"] = [picture(rng)]
    for request in requests[22:27]:
        request["audio"] = [recording(float(rng.uniform(1.0, 2.0 if tiny else 10.0)), rng)]
    for number, request in enumerate(requests[27:]):
        seconds = 1.0 if tiny else 2.0 + number
        frames = [(at, rng.integers(0, 256, (240, 320, 3), dtype=np.uint8)) for at in steady(seconds, 4)]
        request["videos"] = [clip(frames, size=(320, 240), samples=tone(seconds, 16_000) if number < 3 else None)]
    return [{"model": "clef-omni", "questions": ASKED, **request} for request in requests]


def throughput(thinker: Thinker, repeats: int, tiny: bool, figures: dict[str, Any]) -> Sheet:
    module = tiny_release.oracle("omni")
    head = module.JointSchemaHead(**thinker.head.config.to_dict())
    head.load_state_dict(thinker.head.state_dict(), strict=True)
    theirs = module.ClefModel(thinker.plain.thinker, head).eval()
    processor, requests = thinker.processor(), mixed(thinker, tiny)
    asked = omniclef.parse_request({"state": "", "questions": ASKED}).questions

    def read(request: dict[str, Any]) -> Record:
        given = [request.get(kind, ()) for kind in ("images", "audio", "videos")]
        return read_record(request["state"], asked, *given, None)

    def ours() -> list[omniclef.Decision]:
        return thinker.model.decide_records([read(request) for request in requests], confidence="top")

    def alone() -> list[omniclef.Decision]:
        return [thinker.model.decide_records([read(request)], confidence="top")[0] for request in requests]

    def publishers() -> list[dict[str, Any]]:
        return [module.systemone(theirs, processor, request) for request in requests]

    apart = 0.0
    decisions = ours()
    for decision, answered in zip(decisions, publishers(), strict=True):
        assert decision.usage.input_tokens == answered["usage"]["input_tokens"]
        for key, answer in answered["answers"].items():
            mine = decision.answers[key].to_dict(None)
            told = answer.get("probabilities", {"": answer.get("noul")})
            got = mine.get("probabilities", {"": mine.get("noul")})
            apart = max(apart, *(abs(got[option] - told[option]) for option in told))
    tokens = sum(decision.usage.input_tokens for decision in decisions)
    runs = {"ours, together": ours, "ours, one by one": alone, "the publisher's, one by one": publishers}
    turns = alternating(list(runs.values()), repeats)
    taken = [min(found) for found in turns]
    sheet = Sheet("32 mixed records", ("how", "seconds", "records/s", "tokens/s", "over the publisher's"))
    for name, seconds in zip(runs, taken, strict=True):
        sheet.add(
            name,
            f"{seconds:.2f}",
            f"{len(requests) / seconds:.1f}",
            f"{tokens / seconds:,.0f}",
            f"{taken[-1] / seconds:.2f}x",
        )
    sheet.notes.append(
        f"16 texts, 6 pictures, 5 sounds, 3 clips with sound, 2 silent clips; {tokens:,} tokens; fastest of {repeats}; "
        f"media are decoded in that time; probabilities differ by {apart:.0e} at most, theirs are rounded to 1e-4"
    )
    figures["mixed"] = {"seconds": dict(zip(runs, turns, strict=True)), "tokens": tokens, "apart": apart}
    return sheet


def second_schema(thinker: Thinker, repeats: int, length: int, figures: dict[str, Any]) -> Sheet:
    model = thinker.opened(MEMORY)
    first, second, cached = [], [], 0
    for repeat in range(-1, repeats):
        state = thinker.state(length, 1000 + repeat)
        start = time.perf_counter()
        model.decide_records([Record(state, QUESTIONS)])
        middle = time.perf_counter()
        cached = model.decide_records([Record(state, OTHERS)])[0].usage.cached_tokens
        if repeat >= 0:
            first.append(middle - start)
            second.append(time.perf_counter() - middle)
    best = min(first), min(second)
    sheet = Sheet("Another schema over the same state", ("schema", "seconds", "cheaper"))
    sheet.add("the first", f"{best[0]:.3f}", "")
    sheet.add("the second", f"{best[1]:.3f}", f"{best[0] / best[1]:.1f}x")
    sheet.notes.append(f"about {length:,} tokens, {cached:,} of them remembered; fastest of {repeats}")
    figures["schemas"] = {"first": first, "second": second, "cached": cached}
    return sheet


def prefill_flops(thinker: Thinker, prompt: Prompt) -> float:
    """Of one prompt: two for each weight that a token meets, its chosen experts alone, and causal attention."""
    text, length = thinker.plain.config.thinker_config.text_config, len(prompt.tokens)
    size, heads = text.hidden_size, text.num_attention_heads * text.head_dim
    attention = size * (2 * heads + 2 * text.num_key_value_heads * text.head_dim)
    experts = 3 * size * text.moe_intermediate_size * text.num_experts_per_tok + size * text.num_experts
    matrices = text.num_hidden_layers * (attention + experts) + size * thinker.head.config.width
    scores = text.num_hidden_layers * heads * length * (length + 1) / 2
    return 2.0 * length * matrices + 4.0 * scores


def achieved(thinkers: dict[str, Thinker], repeats: int, length: int, figures: dict[str, Any]) -> Sheet:
    sheet = Sheet("Prefill beside a plain matrix product", ("precision", "prefill", "product", "share", "limits"))
    for name, thinker in thinkers.items():
        record = Record(thinker.state(length), QUESTIONS)
        dtype = thinker.network.table.dtype
        left, right = torch.randn(2048, 2048).to(dtype), torch.randn(2048, 2048).to(dtype)

        def product(left: torch.Tensor = left, right: torch.Tensor = right) -> None:
            for _ in range(8):
                torch.mm(left, right)

        with torch.inference_mode():
            prefill, plain = alternating([lambda t=thinker, r=record: t.model.backbone.prefill([r]), product], repeats)
        rate = prefill_flops(thinker, thinker.writer.write(record)) / min(prefill) / 1e9
        best = 8 * 2 * 2048**3 / min(plain) / 1e9
        limits = shares(thinker, record)
        sheet.add(name, f"{rate:,.0f} GFLOP/s", f"{best:,.0f} GFLOP/s", f"{100 * rate / best:.0f} %", limits)
        figures.setdefault("flops", {})[name] = {"prefill": rate, "product": best, "limits": limits}
    sheet.notes.append(f"a state of about {length:,} tokens; the product is of 2048 x 2048; fastest of {repeats}")
    return sheet


def shares(thinker: Thinker, record: Record) -> str:
    """What a prefill spends its time on, by kernel."""
    with torch.profiler.profile() as seen:
        thinker.model.backbone.prefill([record])
    events = seen.key_averages()
    whole = sum(event.self_cpu_time_total for event in events)
    products = sum(e.self_cpu_time_total for e in events if e.key in ("aten::mm", "aten::addmm", "aten::bmm"))
    attention = sum(e.self_cpu_time_total for e in events if "scaled_dot_product" in e.key)
    told = {"products": products, "attention": attention, "all else": whole - products - attention}
    return ", ".join(f"{name} {100 * spent / whole:.0f} %" for name, spent in told.items())


def streaming(lengths: Sequence[int], tiny: bool, threads: int, figures: dict[str, Any]) -> Sheet:
    columns = ("tokens", "how", "lasts", "beyond that", "resident beyond that", "head")
    sheet = Sheet("Memory of reading one state", columns)
    # Large blocks go back to the system at once, so that its count is of what is in use.
    plain = {**os.environ, "MALLOC_MMAP_THRESHOLD_": "65536"}
    for how in ("pieces", "whole"):
        for length in lengths:
            options = ["--tokens", length, "--how", how, "--threads", threads, *(["--tiny"] if tiny else [])]
            command = [sys.executable, str(HERE / "streaming.py"), *map(str, options)]
            ran = subprocess.run(command, env=plain, capture_output=True, text=True, check=True)
            found = json.loads(ran.stdout.splitlines()[-1])
            sizes = (found[name] / 1e6 for name in ("lasts", "beyond", "resident", "head"))
            sheet.add(f"{found['tokens']:,}", how, *(f"{size:,.1f} MB" for size in sizes))
            figures.setdefault("streaming", []).append(found)
    sheet.notes.append("each in a process of its own; torch's allocator tells, and beside it the operating system")
    sheet.notes.append("lasts: memory rows, and keys and values where it is read in pieces; head: deciding afterwards")
    return sheet


def environment(thinker: Thinker, threads: int, figures: dict[str, Any]) -> Sheet:
    machine, parts = hardware(), versions()
    sheet = Sheet("Measured on", ("what", "value"))
    sheet.add("processor", f"{machine['cpu']}, {machine['cores']} cores, {', '.join(machine['flags'])}")
    sheet.add("threads for each contestant", str(threads))
    sheet.add("system", machine["system"])
    sheet.add("load average at the start", " ".join(map(str, machine["load"])))
    for package in ("python", "omniclef", "torch", "transformers", "numpy"):
        sheet.add(package, parts[package])
    sheet.add("parameters of the network", f"{thinker.parameters / 1e6:,.0f} million")
    figures |= {"hardware": machine, "versions": parts, "threads": threads, "parameters": thinker.parameters}
    return sheet


def main() -> None:
    parser = argparse.ArgumentParser(description="A released network on a CPU.")
    parser.add_argument("--repeats", type=int, default=5, help="of each measurement")
    parser.add_argument("--threads", type=int, default=cores(), help="for every contestant (default: all cores)")
    parser.add_argument("--tiny", action="store_true", help="small sizes, to see that it runs")
    parser.add_argument("--json", type=Path, metavar="FILE", help="also write every figure there")
    parser.add_argument("--markdown", type=Path, metavar="FILE", help="also write the tables there")
    options = parser.parse_args()
    torch.set_num_threads(options.threads)
    tiny, repeats = options.tiny, 1 if options.tiny else options.repeats
    figures: dict[str, Any] = {}
    size, length = ("tiny", 1024) if tiny else ("thinker", LONG)
    console, sheets = Console(), []

    def told(sheet: Sheet) -> None:
        """Shows a table at once: a run takes minutes."""
        show([sheet], console)
        sheets.append(sheet)

    thinker = Thinker(size)
    told(environment(thinker, options.threads, figures))
    told(throughput(thinker, repeats, tiny, figures))
    told(second_schema(thinker, repeats, length, figures))
    thinkers = {"float32": thinker, "bfloat16": Thinker(size, torch.bfloat16)}
    told(achieved(thinkers, repeats, length, figures))
    del thinker, thinkers
    lengths = (2048, 8192) if tiny else (4096, 8192, 16384, 32768)
    told(streaming(lengths, tiny, options.threads, figures))
    if options.json:
        options.json.write_text(json.dumps(figures, indent=1) + "\n", "utf-8")
    if options.markdown:
        options.markdown.write_text(markdown(sheets), "utf-8")


if __name__ == "__main__":
    main()
