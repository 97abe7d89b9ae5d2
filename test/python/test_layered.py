"""Nodes in layers, as the drawing of `mlopt explain` has them."""

import itertools
import random

from mlopt.tools.layered import lay_out


def test_nodes_of_a_layer_do_not_overlap_and_edges_go_down() -> None:
    rng = random.Random(0)
    sizes = {node: (rng.uniform(20, 200), rng.uniform(10, 50)) for node in range(40)}
    edges = [(a, b) for a in range(40) for b in range(a + 1, 40) if rng.random() < 0.05]
    layout = lay_out(sizes, edges)
    boxes = {
        node: (x - w / 2, y - h / 2, x + w / 2, y + h / 2)
        for node, (w, h) in sizes.items()
        for x, y in [layout.middles[node]]
    }
    for one, other in itertools.combinations(boxes.values(), 2):
        assert one[2] < other[0] or other[2] < one[0] or one[3] < other[1] or other[3] < one[1]
    assert all(
        box[0] > -1e-6 and box[2] <= layout.width + 1e-6 and box[3] <= layout.height for box in boxes.values()
    )
    for maker, reader in edges:
        assert boxes[maker][3] < boxes[reader][1]
        assert layout.routes[maker, reader][0] == layout.middles[maker]
