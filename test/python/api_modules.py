"""Modules and comparisons that the tests of the API share."""

import torch
from torch import nn


class Net(nn.Module):
    def __init__(self):
        super().__init__()
        self.first = nn.Linear(16, 32)
        self.second = nn.Linear(32, 8)

    def forward(self, x):
        return self.second(torch.relu(self.first(x)))


class Call(nn.Module):
    """A module around a function."""

    def __init__(self, function):
        super().__init__()
        self.function = function

    def forward(self, *args):
        return self.function(*args)


def close(ours, eager):
    torch.testing.assert_close(ours, eager, rtol=1e-5, atol=1e-5)


class Counter(nn.Module):
    def __init__(self):
        super().__init__()
        self.linear = nn.Linear(4, 4)
        self.register_buffer("count", torch.zeros(4))
        self.register_buffer("hidden", torch.ones(4), persistent=False)

    def forward(self, x):
        self.count.add_(1)
        return self.linear(x) + self.count * self.hidden
