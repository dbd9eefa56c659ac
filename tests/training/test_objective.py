"""The loss, against values worked out by hand."""

import numpy as np
import pytest
import torch

from omniclef.training.objective import Weights, objective, targets

PLAIN = Weights(smoothing=0.0, brier=0.0, ranked=0.0)


def one(truth, kind=1, first=0):
    return (first, np.array(truth, np.float32), kind)


def test_cross_entropy_of_a_flat_distribution():
    loss, p = objective(torch.zeros(4), targets([one([0, 1, 0, 0])]), PLAIN)
    assert loss.item() == pytest.approx(np.log(4))
    assert p.tolist() == [[0.25] * 4]


def test_smoothing_spreads_a_share_over_all_options():
    logits = torch.tensor([2.0, 0.0])
    logs = torch.log_softmax(logits, 0)
    loss, _ = objective(logits, targets([one([1, 0])]), Weights(smoothing=0.2, brier=0.0, ranked=0.0))
    assert loss.item() == pytest.approx(-(0.9 * logs[0] + 0.1 * logs[1]).item())


def test_the_brier_term():
    logits = torch.log(torch.tensor([0.7, 0.2, 0.1]))
    base, _ = objective(logits, targets([one([1, 0, 0])]), PLAIN)
    loss, _ = objective(logits, targets([one([1, 0, 0])]), Weights(smoothing=0.0, brier=2.0, ranked=0.0))
    assert (loss - base).item() == pytest.approx(2 * (0.3**2 + 0.2**2 + 0.1**2), abs=1e-6)


def test_a_neighbouring_level_is_less_wrong_than_a_far_one_but_only_for_scores():
    near, far = torch.tensor([0.0, 3.0, 0.0, 0.0]), torch.tensor([0.0, 0.0, 0.0, 3.0])
    weights = Weights(smoothing=0.0, brier=0.0, ranked=1.0)
    truth = [1, 0, 0, 0]
    score = [objective(x, targets([one(truth, kind=2)]), weights)[0].item() for x in (near, far)]
    choice = [objective(x, targets([one(truth, kind=1)]), weights)[0].item() for x in (near, far)]
    assert score[0] < score[1]
    assert choice[0] == pytest.approx(choice[1])


def test_questions_of_different_sizes_do_not_touch_each_other():
    logits = torch.tensor([1.0, -1.0, 0.5, 0.2, 0.1, 9.0])
    both, p = objective(logits, targets([one([1, 0], 0), one([0, 0, 1], 1, first=2)]), Weights())
    first, _ = objective(logits, targets([one([1, 0], 0)]), Weights())
    second, _ = objective(logits, targets([one([0, 0, 1], 1, first=2)]), Weights())
    assert both.item() == pytest.approx((first.item() + second.item()) / 2)
    assert p[0, 2].item() == 0.0
    assert p.sum(1).tolist() == pytest.approx([1.0, 1.0])


def test_soft_targets_have_their_least_loss_at_themselves():
    truth = [0.6, 0.3, 0.1]
    wanted = targets([one(truth)])
    at = objective(torch.log(torch.tensor(truth)), wanted, Weights(smoothing=0.0))[0]
    off = objective(torch.log(torch.tensor([0.5, 0.4, 0.1])), wanted, Weights(smoothing=0.0))[0]
    assert at < off


def test_padding_gets_no_gradient():
    logits = torch.zeros(5, requires_grad=True)
    loss, _ = objective(logits, targets([one([1, 0]), one([0, 1, 0], first=2)]), Weights())
    loss.backward()
    assert torch.isfinite(logits.grad).all()
    assert logits.grad[:2].sum().item() == pytest.approx(0.0, abs=1e-6)
