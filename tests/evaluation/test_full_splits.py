"""The published splits in full, where the data folder lies beside the checkout, with exact counts."""

from __future__ import annotations

from pathlib import Path

import pytest

from omniclef.evaluation.sources import DataFolder
from omniclef.evaluation.suite import get_suite, option_keys, suite_names
from omniclef.records import parse_questions, parse_state

DATA = Path(__file__).parents[2].parent / "shared/data"

SIZES = {
    "api_bank": (508, 53),
    "banking77": (3080, 77),
    "banking77_20shot": (3080, 77),
    "banking77_5shot": (3080, 77),
    "cifar10": (1000, 10),
    "cifar10_examples": (1000, 10),
    "clinc150_oos": (5500, 151),
    "clips": (43, 2),
    "clips_silent": (43, 2),
    "coffee_orders": (60, 2),
    "coffee_orders_examples": (60, 2),
    "dga_domains": (1500, 2),
    "emodb": (40, 7),
    "fsdd": (180, 10),
    "fsdd_examples": (180, 10),
    "github_issues": (1500, 3),
    "metatool": (2000, 199),
    "openclipart": (195, 36),
    "presidio_pii": (300, 2),
    "sign_digits": (250, 10),
    "sms_spam": (1100, 2),
    "sst5": (2210, 5),
    "when2call": (300, 4),
}


def test_every_suite_has_its_size_written_down() -> None:
    assert {name: get_suite(name).size for name in suite_names()} == {
        name: n for name, (n, _) in SIZES.items()
    }


# The data sets are not part of the project, so without the folder there is nothing here to test.
if DATA.is_dir():

    @pytest.mark.slow
    @pytest.mark.parametrize("name", sorted(SIZES))
    def test_full_split(name: str) -> None:
        cases = get_suite(name).cases(DataFolder(DATA))
        count, options = SIZES[name]
        assert len(cases) == cases.total == count
        parsed: object = None
        ids = set()
        for case in cases:
            questions = case.request["questions"]
            if questions is not parsed:
                assert parse_questions(questions)
                parsed = questions
            parse_state(case.request["state"])
            assert len(option_keys(next(iter(questions.values())))) == options
            for question, label in case.labels.items():
                key = str(label).lower() if isinstance(label, bool) else str(label)
                assert key in option_keys(questions[question])
            ids.add(case.id)
        assert len(ids) == count
