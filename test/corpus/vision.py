"""Convolutional networks and other modules on images."""

from __future__ import annotations

import torch
from torch import Tensor, nn


class ConvBnRelu(nn.Module):
    """One convolution, batch norm with statistics that are not trivial, ReLU."""

    def __init__(self, inputs: int, outputs: int, kernel: int = 3, stride: int = 1, groups: int = 1) -> None:
        super().__init__()
        self.conv = nn.Conv2d(inputs, outputs, kernel, stride, kernel // 2, groups=groups, bias=False)
        self.bn = nn.BatchNorm2d(outputs)
        with torch.no_grad():
            self.bn.running_mean.normal_()
            self.bn.running_var.uniform_(0.5, 2.0)
            self.bn.weight.uniform_(0.5, 1.5)
            self.bn.bias.normal_()

    def forward(self, x: Tensor) -> Tensor:
        return torch.relu(self.bn(self.conv(x)))


class BasicBlock(nn.Module):
    """ResNet's block of two convolutions and a shortcut."""

    def __init__(self, inputs: int, outputs: int, stride: int) -> None:
        super().__init__()
        self.conv1 = nn.Conv2d(inputs, outputs, 3, stride, 1, bias=False)
        self.bn1 = nn.BatchNorm2d(outputs)
        self.conv2 = nn.Conv2d(outputs, outputs, 3, 1, 1, bias=False)
        self.bn2 = nn.BatchNorm2d(outputs)
        self.shortcut: nn.Module = nn.Identity()
        if stride != 1 or inputs != outputs:
            self.shortcut = nn.Sequential(
                nn.Conv2d(inputs, outputs, 1, stride, bias=False), nn.BatchNorm2d(outputs)
            )

    def forward(self, x: Tensor) -> Tensor:
        y = torch.relu(self.bn1(self.conv1(x)))
        return torch.relu(self.bn2(self.conv2(y)) + self.shortcut(x))


class ResNet(nn.Module):
    """ResNet with basic blocks: ResNet-18 with the widths 64 to 512, two blocks each."""

    def __init__(
        self, widths: tuple[int, ...] = (64, 128, 256, 512), blocks: int = 2, classes: int = 1000
    ) -> None:
        super().__init__()
        self.conv1 = nn.Conv2d(3, widths[0], 7, 2, 3, bias=False)
        self.bn1 = nn.BatchNorm2d(widths[0])
        self.pool = nn.MaxPool2d(3, 2, 1)
        stages: list[nn.Module] = []
        inputs = widths[0]
        for i, width in enumerate(widths):
            for block in range(blocks):
                stages.append(BasicBlock(inputs, width, 2 if i > 0 and block == 0 else 1))
                inputs = width
        self.stages = nn.Sequential(*stages)
        self.head = nn.Linear(inputs, classes)

    def forward(self, x: Tensor) -> Tensor:
        y = self.pool(torch.relu(self.bn1(self.conv1(x))))
        y = self.stages(y)
        return self.head(torch.flatten(y.mean((2, 3)), 1))


class InvertedResidual(nn.Module):
    """MobileNet's block: 1×1, depthwise 3×3, 1×1, with ReLU6."""

    def __init__(self, channels: int, factor: int) -> None:
        super().__init__()
        wide = channels * factor
        self.body = nn.Sequential(
            nn.Conv2d(channels, wide, 1, bias=False), nn.BatchNorm2d(wide), nn.ReLU6(),
            nn.Conv2d(wide, wide, 3, 1, 1, groups=wide, bias=False), nn.BatchNorm2d(wide), nn.ReLU6(),
            nn.Conv2d(wide, channels, 1, bias=False), nn.BatchNorm2d(channels),
        )  # fmt: skip

    def forward(self, x: Tensor) -> Tensor:
        return x + self.body(x)


class Pools(nn.Module):
    """Max, average and global pooling of one input."""

    def forward(self, x: Tensor) -> tuple[Tensor, Tensor, Tensor]:
        largest = nn.functional.max_pool2d(x, 3, 2, 1)
        average = nn.functional.avg_pool2d(x, 2)
        return largest, average, nn.functional.adaptive_avg_pool2d(x, 1)


class LeNet(nn.Module):
    """Two convolutions with pooling, three linear layers."""

    def __init__(self) -> None:
        super().__init__()
        self.conv1 = nn.Conv2d(1, 6, 5)
        self.conv2 = nn.Conv2d(6, 16, 5)
        self.fc1 = nn.Linear(16 * 4 * 4, 120)
        self.fc2 = nn.Linear(120, 84)
        self.fc3 = nn.Linear(84, 10)

    def forward(self, x: Tensor) -> Tensor:
        x = nn.functional.max_pool2d(torch.relu(self.conv1(x)), 2)
        x = nn.functional.max_pool2d(torch.relu(self.conv2(x)), 2)
        x = torch.flatten(x, 1)
        return self.fc3(torch.relu(self.fc2(torch.relu(self.fc1(x)))))


class DilatedConv1d(nn.Module):
    """A causal, dilated 1-D convolution with a gate (WaveNet)."""

    def __init__(self, channels: int, dilation: int) -> None:
        super().__init__()
        self.pad = 2 * dilation
        self.filter = nn.Conv1d(channels, channels, 3, dilation=dilation)
        self.gate = nn.Conv1d(channels, channels, 3, dilation=dilation)

    def forward(self, x: Tensor) -> Tensor:
        padded = nn.functional.pad(x, (self.pad, 0))
        return x + torch.tanh(self.filter(padded)) * torch.sigmoid(self.gate(padded))


def resnet18() -> ResNet:
    """ResNet-18 for 224×224 images and 1000 classes, random weights."""
    return ResNet()
