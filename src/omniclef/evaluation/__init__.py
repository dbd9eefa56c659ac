"""Suites, metrics, calibration and reports: what a model is worth, by the same code for every model."""

from omniclef.evaluation.adapter import Answerer
from omniclef.evaluation.report import results_dict, results_table, write_report
from omniclef.evaluation.run import SuiteResult, evaluate
from omniclef.evaluation.suite import Case, Suite, get_suite, suite_names

__all__ = [
    "Answerer",
    "Case",
    "Suite",
    "SuiteResult",
    "evaluate",
    "get_suite",
    "results_dict",
    "results_table",
    "suite_names",
    "write_report",
]
