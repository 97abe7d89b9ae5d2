"""Memory of large outputs is used again when nobody has it any more, and only then."""

from __future__ import annotations

import threading
from collections.abc import Callable
from typing import Any

import mlopt
import pytest
import torch
from mlopt.runtime.recycled import LARGE, MOST_OF_A_SIZE, Recycler

SIDE = 512  # of f32: exactly LARGE bytes


def take(recycler: Recycler, rows: int = SIDE) -> torch.Tensor:
    return recycler.empty((rows, SIDE), (SIDE, 1), torch.float32)


def test_a_dead_outputs_memory_serves_the_next() -> None:
    recycler = Recycler()
    first = take(recycler)
    address = first.data_ptr()
    assert first.untyped_storage().nbytes() == LARGE
    del first
    second = take(recycler)
    assert second.data_ptr() == address
    assert second.shape == (SIDE, SIDE) and second.stride() == (SIDE, 1) and second.dtype == torch.float32
    assert second.is_leaf and not second.requires_grad and not second.is_inference()
    assert take(recycler).data_ptr() != address


def test_what_was_used_last_serves_first() -> None:
    recycler = Recycler()
    results = [take(recycler) for _ in range(3)]
    kept = results[1].data_ptr()
    newest = results[2].data_ptr()
    del results[0], results[1]
    assert [take(recycler).data_ptr() for _ in range(3)] == [newest] * 3
    assert results[0].data_ptr() == kept


def test_other_dtypes_share_memory_of_the_same_size() -> None:
    recycler = Recycler()
    address = take(recycler).data_ptr()
    halves = recycler.empty((SIDE, 2 * SIDE), (1, SIDE), torch.bfloat16)
    assert halves.data_ptr() == address and halves.stride() == (1, SIDE)


def kept_view(value: torch.Tensor) -> Any:
    return value[3:, ::2]


def kept_array(value: torch.Tensor) -> Any:
    return value[1:].numpy()


def kept_storage(value: torch.Tensor) -> Any:
    return value.untyped_storage()


def kept_capsule(value: torch.Tensor) -> Any:
    return torch.utils.dlpack.to_dlpack(value)


def kept_graph(value: torch.Tensor) -> Any:
    leaf = torch.ones(SIDE, requires_grad=True)
    return (leaf * value).sum()  # saves it for backward


def kept_alias(value: torch.Tensor) -> Any:
    return torch.empty(0).set_(value.untyped_storage())


@pytest.mark.parametrize(
    "keep",
    [kept_view, kept_array, kept_storage, kept_capsule, kept_graph, kept_alias],
    ids=lambda f: f.__name__,
)
def test_memory_that_somebody_has_is_not_touched(keep: Callable[[torch.Tensor], Any]) -> None:
    recycler = Recycler()
    value = take(recycler)
    address = value.data_ptr()
    kept = keep(value)
    del value
    assert take(recycler).data_ptr() != address
    del kept


def test_what_was_resized_or_shared_or_frozen_is_not_used_again() -> None:
    recycler = Recycler()
    resized, shared, frozen = (take(recycler) for _ in range(3))
    addresses = {value.data_ptr() for value in (resized, shared, frozen)}
    resized.resize_(2 * SIDE, SIDE)
    shared.share_memory_()
    frozen.numpy()
    del resized, shared, frozen
    values = [take(recycler) for _ in range(3)]
    assert addresses.isdisjoint(value.data_ptr() for value in values) or all(
        value.untyped_storage().resizable() and not value.is_shared() for value in values
    )
    for value in values:
        assert value.untyped_storage().nbytes() == LARGE
        value.resize_(2 * SIDE, SIDE)  # as an ordinary tensor


def test_small_outputs_and_too_large_ones_are_torchs() -> None:
    recycler = Recycler(most=4 * LARGE)
    for rows in (SIDE - 1, 4 * SIDE + 1):
        take(recycler, rows)
    assert not recycler.watched_bytes
    take(recycler)
    assert recycler.watched_bytes == LARGE


def test_what_is_watched_is_bounded() -> None:
    recycler = Recycler(most=4 * LARGE)
    kept = [take(recycler) for _ in range(MOST_OF_A_SIZE + 3)]
    assert recycler.watched_bytes <= 4 * LARGE
    for rows in range(SIDE, 2 * SIDE, 64):  # other sizes push out the old ones
        take(recycler, rows)
        assert recycler.watched_bytes <= 4 * LARGE
    del kept


def test_results_of_calls_stay_what_they_are() -> None:
    x = torch.randn(700, 600)
    fast = mlopt.jit(lambda x: torch.relu(x) * 0.5 + 1, x)
    inputs = [torch.randn(700, 600) for _ in range(12)]
    kept = [fast(each) for each in inputs[:6]]
    for each in inputs:  # their results die at once
        torch.testing.assert_close(fast(each), torch.relu(each) * 0.5 + 1)
    for each, result in zip(inputs, kept, strict=False):
        torch.testing.assert_close(result, torch.relu(each) * 0.5 + 1)


def test_threads_never_get_the_same_memory() -> None:
    recycler = Recycler()
    wrong: list[str] = []

    def work(number: float) -> None:
        for _ in range(200):
            value = take(recycler)
            value[::64, ::64] = number
            if not bool((value[::64, ::64] == number).all()):
                wrong.append("another thread wrote")

    threads = [threading.Thread(target=work, args=(float(number),)) for number in range(6)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert not wrong
