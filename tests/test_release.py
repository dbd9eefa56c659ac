"""Release folders: what is told of them, what is found wrong with them, and that written ones are the publisher's."""

from __future__ import annotations

import json
import shutil
from pathlib import Path

import pytest
import tiny_release
import torch
from safetensors.torch import load_file, save_file

import omniclef
from omniclef.backbones.qwen.backbone import QwenBackbone
from omniclef.head import TorchHead
from omniclef.hub import PINNED, PUBLISHED, is_hub_id
from omniclef.model import describe
from omniclef.release import HEAD_CONFIG, HEAD_WEIGHTS, IncompleteRelease, NotEnoughMemory, Release, is_release, write

FAMILIES = ("omni", "dense")
QUESTIONS = {"q": {"type": "choice", "instructions": "Which?", "criteria": {"b": None, "a": "first"}}}


@pytest.fixture(scope="module")
def built(tmp_path_factory: pytest.TempPathFactory) -> dict[str, Path]:
    root = tmp_path_factory.mktemp("releases")
    return {family: tiny_release.build(root / family, family) for family in FAMILIES}


@pytest.fixture(params=FAMILIES)
def folder(request: pytest.FixtureRequest, built: dict[str, Path], tmp_path: Path) -> Path:
    """A copy that may be broken."""
    return Path(shutil.copytree(built[request.param], tmp_path / request.param))


def change(path: Path, **values: object) -> None:
    path.write_text(json.dumps(json.loads(path.read_text()) | values))


def tensors(path: Path, **values: torch.Tensor | None) -> None:
    """Sets tensors of a file, with __ for each dot, or takes them out."""
    found = load_file(path)
    for name, value in values.items():
        name = name.replace("__", ".")
        if value is None:
            del found[name]
        else:
            found[name] = value
    save_file(found, path, {"format": "pt"})


def test_a_folder_is_recognised_by_its_head(folder: Path) -> None:
    assert is_release(folder)
    (folder / HEAD_CONFIG).unlink()
    assert not is_release(folder)
    with pytest.raises(omniclef.ModelNotFound):
        omniclef.load(folder)


def test_what_is_told_without_loading(built: dict[str, Path]) -> None:
    omni, dense = (describe(built[family]) for family in FAMILIES)
    assert (omni.name, dense.name) == ("clef-omni", "clef")
    assert omni.reads == ("text", "image", "audio", "video")
    assert dense.reads == ("text", "image", "video")
    assert (omni.limits["tokens"], dense.limits["tokens"]) == (64_000, 16_384)
    assert omni.checked == dense.checked == "whole"
    assert omni.digest != dense.digest == describe(built["dense"]).digest
    assert omni.licence == "not stated in the folder"


def test_info_on_the_command_line(cli, folder: Path) -> None:
    (folder / "README.md").write_text("---\ntags:\n- x\nlicense: apache-2.0\n---\nlicense: other\n")
    told = cli("info", folder)
    assert told.code == 0
    for part in ("clef", "joint schema head", "apache-2.0", "tokens", "float32 1.", "bfloat16 0.", "int8", "whole"):
        assert part in told.out
    tensors(folder / HEAD_WEIGHTS, option_norm__bias=None)
    told = cli("info", folder)
    assert told.code == 2
    assert "1 missing (option_norm.bias)" in told.err
    assert told.err.count("\n") == 1


def test_published_releases_are_listed(cli) -> None:
    told = cli("models")
    assert told.code == 0
    words = told.out.split()
    for part in ("nano", *(release.name for release in PUBLISHED), "Cloudflare/clef", "63", "54", "18"):
        assert part in words
    assert PINNED.keys() <= {release.model for release in PUBLISHED}


def test_memory_is_that_of_the_weights(folder: Path) -> None:
    model = omniclef.load(folder)
    backbone, head = model.backbone, model.head
    assert isinstance(backbone, QwenBackbone)
    assert isinstance(head, TorchHead)
    with backbone.network.whole() as network:
        held = [*network.parameters(), *head.module.parameters()]
    memory = Release.open(folder).memory()
    assert memory["float32"] == 4 * sum(tensor.numel() for tensor in held)
    assert memory["int8"] < memory["bfloat16"] < memory["float32"]


def test_too_little_memory_says_how_much_is_missing(folder: Path) -> None:
    release = Release.open(folder)
    needed = release.memory()
    release.require_memory("float32", needed["float32"])
    with pytest.raises(NotEnoughMemory, match=r"are missing; use bfloat16 \(0\.\d MB\) or int8 \(0\.\d MB\)") as caught:
        release.require_memory("float32", needed["bfloat16"])
    assert (caught.value.needed, caught.value.available) == (needed["float32"], needed["bfloat16"])
    with pytest.raises(NotEnoughMemory, match="use a machine with more memory"):
        release.require_memory("int8", 1000)


def test_parts_that_do_not_decide_are_ignored(folder: Path) -> None:
    before = Release.open(folder).memory()
    extra = {"talker.x": torch.ones(9), "code2wav.y.weight": torch.ones(2, 2), "mtp.z": torch.ones(3)}
    tensors(folder / "model.safetensors", **extra)
    release = Release.open(folder)
    release.check()
    assert release.memory() == before


def test_tied_embeddings_need_no_output_layer(built: dict[str, Path], tmp_path: Path) -> None:
    folder = Path(shutil.copytree(built["dense"], tmp_path / "dense"))
    tensors(folder / "model.safetensors", **{"lm_head.weight": None})
    with pytest.raises(IncompleteRelease, match="lm_head"):
        Release.open(folder).check()
    text = json.loads((folder / "config.json").read_text())["text_config"]
    change(folder / "config.json", tie_word_embeddings=True, text_config=text | {"tie_word_embeddings": True})
    model = omniclef.load(folder)
    assert isinstance(model.backbone, QwenBackbone)
    embeddings = load_file(folder / "model.safetensors")["model.language_model.embed_tokens.weight"]
    assert torch.equal(model.backbone.network.table, embeddings)


def test_every_kind_of_wrong_tensor_is_named(folder: Path) -> None:
    names = sorted(Release.open(folder).tensors)
    gone, bent = (next(name for name in names if part in name) for part in ("q_proj.weight", "visual.pos_embed"))
    tensors(
        folder / "model.safetensors",
        **{gone: None, bent: torch.ones(3, 5), "visual__odd": torch.ones(1)},  # type: ignore[arg-type]
    )
    with pytest.raises(IncompleteRelease) as caught:
        omniclef.load(folder)
    assert caught.value.missing == [gone]
    assert caught.value.unexpected == ["visual.odd"]
    assert caught.value.mismatched == {bent: ((3, 5), (64, 32))}
    for part in (f"1 missing ({gone})", "1 unexpected (visual.odd)", f"{bent} is [3, 5], not [64, 32]"):
        assert part in str(caught.value)


def test_a_missing_expert_is_missed(built: dict[str, Path], tmp_path: Path) -> None:
    folder = Path(shutil.copytree(built["omni"], tmp_path / "omni"))
    expert = "thinker.model.layers.1.mlp.experts.3.up_proj.weight"
    tensors(folder / "model.safetensors", **{expert: None})
    with pytest.raises(IncompleteRelease) as caught:
        Release.open(folder).check()
    assert caught.value.missing == [expert]


def test_the_configuration_decides(folder: Path) -> None:
    change(folder / HEAD_CONFIG, layers=3)
    with pytest.raises(IncompleteRelease, match=r"layers\.2\.linear1\.bias"):
        Release.open(folder).check()
    change(folder / HEAD_CONFIG, hidden_size=32)
    with pytest.raises(omniclef.InvalidInput, match="hidden_size is 32, that of the backbone is 64"):
        Release.open(folder).check()


def test_shards_are_read_by_their_index(folder: Path) -> None:
    whole = load_file(folder / "model.safetensors")
    (folder / "model.safetensors").unlink()
    names = sorted(whole)
    halves = {"model-1.safetensors": names[::2], "model-2.safetensors": names[1::2]}
    for file, some in halves.items():
        save_file({name: whole[name] for name in some}, folder / file, {"format": "pt"})
    placed = {name: file for file, some in halves.items() for name in some}
    (folder / "model.safetensors.index.json").write_text(json.dumps({"metadata": {}, "weight_map": placed}))
    Release.open(folder).check()
    assert omniclef.load(folder).decide("x", QUESTIONS).answers
    (folder / "model-2.safetensors").unlink()
    with pytest.raises(omniclef.ModelNotFound, match=r"model-2\.safetensors is missing"):
        omniclef.load(folder)


@pytest.mark.parametrize("name", ["model.safetensors", HEAD_WEIGHTS])
def test_a_file_cut_short_is_no_release(folder: Path, name: str) -> None:
    data = (folder / name).read_bytes()
    for length in (0, 7, 200, len(data) - 1):
        (folder / name).write_bytes(data[:length])
        with pytest.raises(omniclef.InvalidInput, match=name):
            Release.open(folder).check()


def test_odd_configurations_are_refused_in_one_line(folder: Path) -> None:
    change(folder / "config.json", model_type="llama")
    with pytest.raises(omniclef.ModelNotFound, match="of the type 'llama'"):
        describe(folder)
    for text in ("{", "[]", ""):
        (folder / "config.json").write_text(text)
        with pytest.raises(omniclef.InvalidInput, match=r"config\.json: is not") as caught:
            describe(folder)
        assert "\n" not in str(caught.value)


def test_code_in_a_folder_is_never_run(folder: Path) -> None:
    (folder / "joint_schema_model.py").write_text("raise SystemExit('ran')")
    (folder / "modeling.py").write_text("raise SystemExit('ran')")
    change(folder / "config.json", auto_map={"AutoConfig": "modeling.C", "AutoModel": "modeling.M"})
    change(folder / "tokenizer_config.json", auto_map={"AutoTokenizer": ["modeling.T", "modeling.T"]})
    assert omniclef.load(folder).decide("x", QUESTIONS).answers


@pytest.mark.parametrize("family", FAMILIES)
def test_a_written_folder_opens_in_the_publishers_loader(family, built: dict[str, Path], tmp_path: Path) -> None:
    model = omniclef.load(built[family])
    backbone, head = model.backbone, model.head
    assert isinstance(backbone, QwenBackbone)
    assert isinstance(head, TorchHead)
    target = tmp_path / "written"
    with backbone.network.whole() as network:
        written = write(target, network, head.module, Release.open(built[family]))
    assert written.tensors == Release.open(built[family]).tensors
    before, after = ({path.name for path in place.iterdir()} for place in (built[family], target))
    assert before == after
    assert omniclef.load(target).decide("x", QUESTIONS) == model.decide("x", QUESTIONS)
    oracle = tiny_release.oracle(family)
    theirs, processor = tiny_release.open_oracle(oracle, target)
    answers = oracle.systemone(theirs, processor, {"model": "clef", "state": "x", "questions": QUESTIONS})["answers"]
    ours = model.decide("x", QUESTIONS, confidence="top").answers["q"].to_dict()
    assert ours["probabilities"] == pytest.approx(answers["q"]["probabilities"], abs=1.1e-4)
    with pytest.raises(omniclef.InvalidInput, match="holds a release already"), backbone.network.whole() as network:
        write(target, network, head.module, written)


def test_hub_ids_have_a_revision() -> None:
    assert all(is_hub_id(name) for name in PINNED)
    assert is_hub_id("owner/name@0123abcd")
    assert is_hub_id("owner/name@v1.0")
    assert not is_hub_id("owner/name")
    assert not is_hub_id("/owner/name@v1")
    assert not is_hub_id("../name@v1")
    with pytest.raises(omniclef.ModelNotFound, match="owner/name@revision"):
        omniclef.load("models/typo")


@pytest.fixture
def offline(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> Path:
    """No network, and a cache of the hub's client of our own."""
    from huggingface_hub import constants

    monkeypatch.setattr(constants, "HF_HUB_OFFLINE", True)
    monkeypatch.setattr(constants, "HF_HUB_CACHE", str(tmp_path))
    return tmp_path


@pytest.mark.parametrize("model", ["owner/name@0123abcd", "owner/name@v1", *PINNED])
def test_without_a_network_the_hub_is_one_line_of_error(offline: Path, model: str) -> None:
    with pytest.raises(omniclef.ModelNotFound, match="cannot be fetched") as caught:
        omniclef.load(model)
    assert "\n" not in str(caught.value)


def test_what_was_fetched_needs_no_network(offline: Path, built: dict[str, Path]) -> None:
    commit = "0123abcd" * 5
    kept = offline / "models--owner--name" / "snapshots" / commit
    shutil.copytree(built["omni"], kept)
    assert describe("owner/name@0123abcd").name == "clef-omni"
    blobs = offline / "models--owner--name" / "blobs"
    blobs.mkdir()
    (blobs / "f.incomplete").touch()  # a download that was cut short is taken up again, which needs the network
    with pytest.raises(omniclef.ModelNotFound, match="cannot be fetched"):
        describe("owner/name@0123abcd")
