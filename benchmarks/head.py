"""The joint schema head beside the publisher's, with the same random weights, rows and spans, in one table.

    python benchmarks/head.py [--hidden N ...] [--rows N ...] [--repeats N] [--threads N] [--seconds N] [--tiny]

Needs the extra [torch] and ``pip install --no-deps clef-finetune==0.1.0``. Both start from hidden rows and end with
logits. They take turns, so that a busy machine slows both alike; a shape that takes one of them longer than
``--seconds`` is measured once.
"""

from __future__ import annotations

import argparse
import importlib.util
import statistics
import sys
import time
from collections.abc import Callable
from pathlib import Path
from types import ModuleType

import torch
from report import Sheet, cores, hardware, show, versions
from rich.console import Console
from torch import Tensor

from omniclef.head import HeadConfig, JointSchemaHead, TorchHead, from_hidden

SHAPES = ((1, 3), (16, 8), (64, 16), (8, 255))
"""Questions, and options of each."""

SPAN = 12
"""Tokens of an option; an instruction has twice as many."""

VOCABULARY = 2_000

Logits = Callable[[], Tensor]


def publisher() -> ModuleType:
    """The publisher's file, run as it is installed."""
    found = importlib.util.find_spec("clef_finetune")
    if found is None or found.origin is None:
        sys.exit("the publisher's head is missing; run: pip install --no-deps clef-finetune==0.1.0")
    path = Path(found.origin).parent / "_vendor" / "joint_schema_model.py"
    spec = importlib.util.spec_from_file_location("publisher", path)
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    sys.modules[spec.name] = module
    spec.loader.exec_module(module)
    return module


def contestants(
    module: ModuleType, head: JointSchemaHead, theirs: torch.nn.Module, rows: int, shape: tuple[int, int]
) -> tuple[Logits, Logits]:
    """Ours and theirs on one random prompt."""
    questions, options = shape
    generator = torch.Generator().manual_seed(rows)
    hidden = torch.randn(rows, head.config.hidden_size, generator=generator)
    table = torch.randn(VOCABULARY, head.config.hidden_size, generator=generator)
    tokens = torch.randint(VOCABULARY, (rows,), generator=generator)
    starts = torch.randint(rows - 2 * SPAN, (questions * (options + 1),), generator=generator)
    spans = torch.stack([starts, starts + SPAN], dim=1)
    asked, offered = spans[:questions] + torch.tensor([0, SPAN]), spans[questions:]
    types = torch.arange(questions) % 3
    owners = torch.arange(questions).repeat_interleave(options)
    encoded = [
        module.EncodedQuestion(
            question_id=str(number),
            question_type=int(types[number]),
            question_span=tuple(asked[number].tolist()),
            option_spans=tuple(map(tuple, offered[number * options : (number + 1) * options].tolist())),
            option_ids=tuple(map(str, range(options))),
        )
        for number in range(questions)
    ]
    record = module.EncodedRecord(tuple(tokens.tolist()), tuple(encoded), "record")

    def ours() -> Tensor:
        inputs = from_hidden(head, hidden, tokens, table, asked, offered, owners, types)
        return head(**inputs, chunk=TorchHead.CHUNK)[0][0]

    def publishers() -> Tensor:
        return torch.cat(theirs(hidden[None], tokens[None], torch.ones(1, rows), [record], table)[0])

    return ours, publishers


def seconds(both: tuple[Logits, Logits], repeats: int, limit: float) -> tuple[float, float, float]:
    """Median seconds of each, and the largest difference of their logits."""
    times: tuple[list[float], list[float]] = ([], [])
    found: list[Tensor] = []
    for _ in range(repeats):
        found = []
        for ask, taken in zip(both, times, strict=True):
            start = time.perf_counter()
            found.append(ask())
            taken.append(time.perf_counter() - start)
        if max(times[0][-1], times[1][-1]) > limit:
            break
    return statistics.median(times[0]), statistics.median(times[1]), float((found[0] - found[1]).abs().max())


def main() -> None:
    parser = argparse.ArgumentParser(description="The joint schema head beside the publisher's.")
    parser.add_argument("--hidden", type=int, nargs="+", default=[2048, 4096], help="hidden sizes of backbones")
    parser.add_argument("--rows", type=int, nargs="+", default=[1024, 4096, 16384], help="tokens of the prompt")
    parser.add_argument("--repeats", type=int, default=7, help="of each shape")
    parser.add_argument("--threads", type=int, default=cores(), help="for both")
    parser.add_argument("--seconds", type=float, default=20.0, help="a shape slower than that is measured once")
    parser.add_argument("--tiny", action="store_true", help="small sizes, to see that it runs")
    options = parser.parse_args()
    torch.set_num_threads(options.threads)
    module = publisher()
    sheet = Sheet(
        "Joint schema head", ("hidden", "rows", "questions x options", "ours", "publisher's", "times", "differs")
    )
    for hidden in [64] if options.tiny else options.hidden:
        released = HeadConfig(hidden, 1024, routing_layers=2, layers=4, heads=16, feedforward=4096)
        small = HeadConfig(hidden, 32, routing_layers=2, layers=2, heads=4, feedforward=64)
        torch.manual_seed(hidden)
        head = JointSchemaHead(small if options.tiny else released).eval()
        theirs = module.JointSchemaHead(**head.config.to_dict()).eval()
        theirs.load_state_dict(head.state_dict(), strict=True)
        with torch.inference_mode():  # whatever torch does once
            for logits in contestants(module, head, theirs, 128, SHAPES[0]):
                logits()
        for rows in [128] if options.tiny else options.rows:
            for shape in SHAPES:
                with torch.inference_mode():
                    both = contestants(module, head, theirs, rows, shape)
                    ours, other, apart = seconds(both, 1 if options.tiny else options.repeats, options.seconds)
                told = (f"{1000 * ours:,.1f} ms", f"{1000 * other:,.1f} ms", f"{other / ours:.1f}", f"{apart:.0e}")
                sheet.rows.append((f"{hidden:,}", f"{rows:,}", f"{shape[0]} x {shape[1]}", *told))
    machine = hardware()
    sheet.notes.append(f"{machine['cpu']}, {options.threads} of {machine['cores']} cores, load {machine['load']}")
    sheet.notes.append(
        ", ".join(f"{name} {number}" for name, number in (versions() | {"torch": torch.__version__}).items())
    )
    show([sheet], Console())


if __name__ == "__main__":
    main()
