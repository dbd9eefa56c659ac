"""The recipe file: what it must say, and how a wrong one is refused."""

from pathlib import Path

import pytest
import yaml

from omniclef.errors import InvalidInput
from omniclef.training import run
from omniclef.training.loop import Plan
from omniclef.training.nano import Recipe, familiar_options
from omniclef.training.objective import Weights
from omniclef.training.records import LabelledRecord

RECIPE = Path(__file__).parents[2] / "recipes" / "nano.yaml"


def values(folder):
    found = yaml.safe_load(RECIPE.read_text("utf-8"))
    (folder / "data").mkdir()
    return {**found, "data": "data"}


def test_the_recipe_of_nano_is_complete_and_its_plan_is_one(tmp_path):
    recipe = Recipe.from_dict(values(tmp_path), tmp_path)
    assert recipe.data == tmp_path / "data"
    fit = dict(recipe.fit)
    plan = Plan(**{**fit, "weights": Weights(**fit.pop("weights"))})
    assert plan.steps > 0
    assert set(recipe.examples) == {"text", "image", "audio"}


@pytest.mark.parametrize(
    ("change", "said"),
    [
        (lambda v: v.pop("head"), "lacks ['head']"),
        (lambda v: v.update(colour="red"), "unknown fields ['colour']"),
        (lambda v: v.update(data="nowhere"), "is no folder"),
    ],
)
def test_a_wrong_recipe_says_what_is_wrong(tmp_path, change, said):
    wrong = values(tmp_path)
    change(wrong)
    with pytest.raises(InvalidInput, match=r"recipe") as error:
        Recipe.from_dict(wrong, tmp_path)
    assert said in str(error.value)


@pytest.mark.parametrize("text", ["kind: other\n", "- a list\n", "a: [unclosed\n"])
def test_a_file_that_is_no_recipe_is_refused_in_one_line(tmp_path, text):
    path = tmp_path / "recipe.yaml"
    path.write_text(text)
    with pytest.raises(InvalidInput) as error:
        run(path)
    assert "\n" not in str(error.value)


def test_only_options_seen_often_enough_in_closed_families_are_familiar():
    def record(family, option):
        question = {"type": "choice", "criteria": {option: None, "other thing": None}}
        return LabelledRecord(family, "x", {"q": question}, {"q": option})

    records = [record("mood", "glad")] * 5 + [record("mood", "rare")] * 2 + [record("sgd", "book a flight")] * 9
    assert familiar_options(records) == ["glad", "other thing"]
