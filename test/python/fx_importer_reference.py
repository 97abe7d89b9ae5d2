"""Run as a script: over the corpus, our text and torch-mlir's FxImporter must lower to the same linalg.

It has a process of its own, since it loads torch and torch_mlir together. Prints one line a case that
differs, and how many were compared.
"""

import sys

import torch
from mlopt.frontends import importer
from mlopt.frontends import torch as frontend
from mlopt.frontends.fx_text import RENAMED, graph_to_text
from mlopt.test.corpus import CASES
from torch_mlir import ir
from torch_mlir._mlir_libs._torchMlir import register_dialect
from torch_mlir.extras.fx_importer import FxImporter

EQUAL_SIZES = "mlopt.equal_sizes"
# Other dtypes differ in casts alone; some cases that have every kind of op.
BF16, UINT8 = torch.bfloat16, torch.uint8
ALSO_IN = {
    "attention": BF16,
    "conv_bn_relu": BF16,
    "gpt2_small": BF16,
    "activations": BF16,
    "reductions": BF16,
}
ALSO_IN |= {"integers": UINT8, "bits": UINT8, "casts": UINT8}


def captured_graph(monkey_case, dtype, dynamic):
    """The graph that capture writes as text, and that text."""
    graphs = []

    def keep(graph, result_sizes=()):
        graphs.append(graph)
        return graph_to_text(graph)

    frontend.graph_to_text = keep
    shapes = monkey_case.dynamic_shapes() if dynamic else None
    program = frontend.capture(monkey_case.module(dtype), monkey_case.inputs(dtype), shapes)
    return graphs[0], program.text


def with_torch_mlir_names(graph):
    """FxImporter knows an op by its aten name only: rename in the graph what we rename in the text."""
    for node in graph.nodes:
        if node.op == "call_function" and node.target in RENAMED:
            node.target, kept = RENAMED[node.target]
            node.args = node.args[:kept]
    return graph


def lowered(make_module):
    context = ir.Context()
    context.enable_multithreading(False)
    register_dialect(context)
    with context, ir.Location.unknown():
        module = make_module(context)
        for pipeline in (importer.TO_BACKEND, importer.TO_LINALG):
            importer.PassManager.parse(pipeline).run(module.operation)
        for function in module.body.operations:
            if EQUAL_SIZES in function.attributes:  # FxImporter does not say it
                del function.attributes[EQUAL_SIZES]
        return str(module)


def imported(context, graph):
    fx_importer = FxImporter(context=context)
    fx_importer.import_stateless_graph(graph)
    return fx_importer.module


def main(names):
    compared = 0
    for case in (CASES[name] for name in names or CASES):
        variants = [(case.dtypes[0], False)]
        if case.name in ALSO_IN:
            variants.append((ALSO_IN[case.name], False))
        if case.dynamic:
            variants.append((case.dtypes[0], True))
        for dtype, dynamic in dict.fromkeys(variants):
            graph, text = captured_graph(case, dtype, dynamic)
            ours = lowered(lambda context, text=text: ir.Module.parse(text, context))
            graph = with_torch_mlir_names(graph)
            theirs = lowered(lambda context, graph=graph: imported(context, graph))
            compared += 1
            if ours != theirs:
                print(f"differs: {case.name} {dtype}{' dynamic' if dynamic else ''}", flush=True)
    print(f"compared: {compared}")


if __name__ == "__main__":
    main(sys.argv[1:])
