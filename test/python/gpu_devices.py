"""The devices that GPU programs are tested on: the emulator, and a GPU where there is one."""

import functools

import mlopt
import torch
from mlopt.runtime.cuda.chips import chip_names

GPU = "gpu" if torch.cuda.is_available() else None
DEVICES = ["emulator"] + ([GPU] if GPU else [])


@functools.cache
def target(device):
    """The target for a device: the GPU's own, or the one with most kinds of kernels."""
    if device == "emulator":
        return "cuda:sm_80"
    name = "sm_{}{}".format(*torch.cuda.get_device_capability())
    return "cuda:" + (f"{name}a" if f"{name}a" in chip_names() else name)


def there(device, value):
    """A tensor or module where programs for ``device`` want it."""
    return value.cuda() if device == GPU else value


def jit(device, module, *inputs, **options):
    """`mlopt.jit` for a device."""
    return mlopt.jit(module, *inputs, target=target(device), device=device, **options)
