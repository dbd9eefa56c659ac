"""Memory that reading one long state takes beyond what lasts, in pieces or whole, of a small random model.

    python benchmarks/streaming.py --tokens 32768 --how pieces [--tiny] [--threads N]

Prints one line of JSON. Bytes come from torch's allocator, which reports every tensor that is made and let go, those
inside kernels too; ``resident`` is the peak that the operating system saw (Linux), measured in a second reading. What
lasts are keys and values of the state, and its memory rows. ``benchmarks/engine.py`` starts this once for each row of
its table, as memory of one reading is not all given back before the next.
"""

from __future__ import annotations

import argparse
import json
from pathlib import Path
from typing import Any

import torch
from thinker import QUESTIONS, Thinker
from torch.profiler import ProfilerActivity, profile

from omniclef.backbones.qwen import backbone as reading
from omniclef.records import Record

STATUS = Path("/proc/self/status")


def most_allocated(run: Any) -> tuple[int, int]:
    """Most bytes of tensors that ``run`` had at once beyond those there before, and bytes that it left."""
    with profile(activities=[ProfilerActivity.CPU], profile_memory=True) as seen:
        kept = run()
    now = most = 0
    for event in seen.profiler.kineto_results.events():
        if event.name() == "[memory]":
            now += event.nbytes()
            most = max(most, now)
    del kept
    return most, now


def most_resident(run: Any) -> int:
    """Bytes by which the process grew at most while it ran; 0 where the system does not tell."""
    if not STATUS.is_file():
        return 0
    Path("/proc/self/clear_refs").write_text("5")  # forgets the peak so far
    before = _kilobytes("VmRSS")
    run()
    return 1024 * (_kilobytes("VmHWM") - before)


def _kilobytes(name: str) -> int:
    lines = dict(line.split(":", 1) for line in STATUS.read_text().splitlines() if ":" in line)
    return int(lines[name].split()[0])


def main() -> None:
    parser = argparse.ArgumentParser(description="Memory of one prefill.")
    parser.add_argument("--tokens", type=int, default=4096, help="of the prompt")
    parser.add_argument("--how", choices=("pieces", "whole"), default="pieces")
    parser.add_argument("--tiny", action="store_true", help="a smaller network")
    parser.add_argument("--threads", type=int, default=1)
    options = parser.parse_args()
    torch.set_num_threads(options.threads)
    thinker = Thinker("tiny" if options.tiny else "slim")
    backbone, head = thinker.model.backbone, thinker.model.head
    record = Record(thinker.state(options.tokens), QUESTIONS)
    reading.TOKENS = 0 if options.how == "pieces" else 1 << 40
    backbone.prefill([Record(thinker.state(700), QUESTIONS)])  # whatever libraries do once
    resident = most_resident(lambda: backbone.prefill([record]))
    found = []
    most, rows = most_allocated(lambda: found.append(backbone.prefill([record])))
    scored, _ = most_allocated(lambda: head(found[0]))
    text = thinker.plain.config.thinker_config.text_config
    tokens = found[0][0].tokens.total
    each = 2 * text.num_hidden_layers * text.num_key_value_heads * text.head_dim * thinker.network.table.itemsize
    lasts = rows + (tokens * each if options.how == "pieces" else 0)
    told = {"tokens": tokens, "how": options.how, "peak": most, "lasts": lasts, "beyond": most - lasts}
    print(json.dumps({**told, "resident": max(0, resident - lasts), "head": scored}))


if __name__ == "__main__":
    main()
