"""What kernels cost, and how long machines take for that: cases whose answer is known."""

import dataclasses
import json
import tomllib
from pathlib import Path

import pytest
from mlir import ir
from mlopt import host_machine
from mlopt.dialects.attributes import BYTES
from mlopt.dialects.context import make_context
from mlopt.options import Options
from mlopt.passes.base import PassError
from mlopt.passes.costs import machine as machines
from mlopt.passes.costs.cost import FUNCTIONS, Cost
from mlopt.passes.costs.count import cost_alone, cost_of
from mlopt.passes.costs.machine import find_machine, machine_for_chip, machine_names
from mlopt.passes.costs.roofline import predict
from mlopt.passes.costs.rows import bytes_again
from mlopt.passes.registry import find_pass, pass_names
from mlopt.passes.schedule import Schedule
from mlopt.passes.structured import structured_ops
from mlopt.passes.tile import kernel_domain

ALL = machine_names()
GPUS = [name for name in ALL if find_machine(name).chips]


def elementwise(body, shape="64x128", dtype="f32", out="f32"):
    kind, result = f"tensor<{shape}x{dtype}>", f"tensor<{shape}x{out}>"
    return f"""
#id = affine_map<(d0, d1) -> (d0, d1)>
func.func private @k(%x: {kind}, %o: {result}) -> {result} {{
  %one = arith.constant 1 : i32
  %r = linalg.generic {{indexing_maps = [#id, #id], iterator_types = ["parallel", "parallel"]}}
      ins(%x : {kind}) outs(%o : {result}) {{
  ^bb0(%a: {dtype}, %b: {out}):
    {body}
  }} -> {result}
  return %r : {result}
}}"""


def matmul(m, n, k, dtype="f32", accumulate="f32"):
    mul, add, ext, zero = ("mulf", "addf", "extf", "0.0")
    if accumulate.startswith("i"):
        mul, add, ext, zero = ("muli", "addi", "extsi", "0")
    product = f"%p = arith.{mul} %a, %b : {accumulate}"
    if dtype != accumulate:
        product = f"""%x = arith.{ext} %a : {dtype} to {accumulate}
    %y = arith.{ext} %b : {dtype} to {accumulate}
    %p = arith.{mul} %x, %y : {accumulate}"""
    a, b, c = f"tensor<{m}x{k}x{dtype}>", f"tensor<{k}x{n}x{dtype}>", f"tensor<{m}x{n}x{accumulate}>"
    return f"""
#a = affine_map<(m, n, k) -> (m, k)>
#b = affine_map<(m, n, k) -> (k, n)>
#c = affine_map<(m, n, k) -> (m, n)>
func.func private @k(%left: {a}, %right: {b}, %o: {c}) -> {c} {{
  %zero = arith.constant {zero} : {accumulate}
  %f = linalg.fill ins(%zero : {accumulate}) outs(%o : {c}) -> {c}
  %r = linalg.generic {{indexing_maps = [#a, #b, #c], iterator_types = ["parallel", "parallel", "reduction"]}}
      ins(%left, %right : {a}, {b}) outs(%f : {c}) {{
  ^bb0(%a: {dtype}, %b: {dtype}, %s: {accumulate}):
    {product}
    %t = arith.{add} %s, %p : {accumulate}
    linalg.yield %t : {accumulate}
  }} -> {c}
  return %r : {c}
}}"""


def cost(text, of=cost_of):
    with make_context(), ir.Location.unknown():
        module = ir.Module.parse(text)
        function = module.body.operations[0].operation
        return of(function)


def test_bytes_and_flops_of_what_is_known():
    assert cost(elementwise("linalg.yield %a : f32")) == Cost(2 * 64 * 128 * 4)
    assert cost(elementwise("%y = arith.negf %a : f32\nlinalg.yield %y : f32")).elementwise == {"f32": 8192}
    small = cost(matmul(33, 17, 129))
    assert small.bytes == 4 * (33 * 129 + 129 * 17 + 33 * 17)
    assert small.contracted == {"f32": 2 * 33 * 17 * 129}
    assert small.elementwise == small.special == {}
    assert small.flops == 2 * 33 * 17 * 129


def test_flops_are_counted_by_dtype():
    assert cost(matmul(8, 8, 8, "bf16")).contracted == {"bf16": 1024}
    assert cost(matmul(8, 8, 8, "f64", "f64")).contracted == {"f64": 1024}
    double = "%y = arith.addf %a, %a : f64\nlinalg.yield %y : f64"
    assert cost(elementwise(double, "2x3", "f64", "f64")).elementwise == {"f64": 6}
    whole = "%y = arith.addi %a, %one : i32\nlinalg.yield %y : i32"
    assert cost(elementwise(whole, "2x3", "i32", "i32")).elementwise == {"int": 6}


def test_special_functions_are_counted_apart_from_the_rest():
    body = """%e = math.exp %a : f32
    %s = arith.addf %e, %a : f32
    %d = arith.divf %e, %s : f32
    %t = math.tanh %d : f32
    %q = math.sqrt %t : f32
    linalg.yield %q : f32"""
    found = cost(elementwise(body, "5x7"))
    assert found.special == {"exp": 35, "div": 35, "tanh": 35, "sqrt": 35}
    assert found.elementwise == {"f32": 35}
    assert found.flops == 5 * 35


def test_scans_by_logarithms_take_special_functions():
    def scan(kind):
        kind = f'kind = "{kind}"}} : (tensor<5x7xf32>, tensor<5x7xf32>) -> tensor<5x7xf32>'
        return f"""#id = affine_map<(i, j) -> (i, j)>
func.func private @k(%x: tensor<5x7xf32>, %o: tensor<5x7xf32>) -> tensor<5x7xf32> {{
  %r = "mlopt.scan"(%x, %o) {{indexing_maps = [#id, #id],
      iterator_types = [#linalg.iterator_type<parallel>, #linalg.iterator_type<reduction>], {kind}
  return %r : tensor<5x7xf32>
}}"""

    assert cost(scan("add")) == Cost(2 * 35 * 4, elementwise={"f32": 70})
    assert cost(scan("logaddexp")).special == {"exp": 70, "log1p": 70}


def test_parts_of_one_tensor_are_added_up():
    text = """
#id = affine_map<(d0, d1) -> (d0, d1)>
func.func private @k(%x: tensor<4x30xf32>, %o: tensor<4x10xf32>) -> tensor<4x10xf32> {
  %a = tensor.extract_slice %x[0, 0] [4, 10] [1, 1] : tensor<4x30xf32> to tensor<4x10xf32>
  %b = tensor.extract_slice %x[0, 20] [4, 10] [1, 1] : tensor<4x30xf32> to tensor<4x10xf32>
  %c = tensor.extract_slice %x[0, 20] [4, 10] [1, 1] : tensor<4x30xf32> to tensor<4x10xf32>
  %r = linalg.generic {indexing_maps = [#id, #id, #id, #id], iterator_types = ["parallel", "parallel"]}
      ins(%a, %b, %c : tensor<4x10xf32>, tensor<4x10xf32>, tensor<4x10xf32>) outs(%o : tensor<4x10xf32>) {
  ^bb0(%d: f32, %e: f32, %f: f32, %g: f32):
    %y = arith.addf %d, %f : f32
    linalg.yield %y : f32
  } -> tensor<4x10xf32>
  return %r : tensor<4x10xf32>
}"""
    assert cost(text).bytes == 4 * (40 + 40 + 40)


def test_an_op_alone_moves_its_inputs_and_its_result():
    def alone(function):
        return [cost_alone(op) for op in structured_ops(function)]

    (found,) = cost(matmul(33, 17, 129), alone)
    assert found.bytes == 4 * (33 * 129 + 129 * 17 + 33 * 17)  # the fill is not read


@pytest.mark.parametrize("name", ALL)
def test_known_kernels_are_bound_by_what_they_are_known_for(name):
    machine = find_machine(name)
    copy = predict(cost(elementwise("linalg.yield %a : f32", "16384x8192")), machine)
    assert copy.bound_by == "memory"
    assert copy.seconds == pytest.approx(2 * 4 * 16384 * 8192 / machine.bandwidth, rel=0.02)
    big = predict(cost(matmul(4096, 4096, 4096)), machine)
    assert big.bound_by == "compute"
    assert big.seconds == pytest.approx(2 * 4096**3 / machine.vector["f32"], rel=0.01)
    tiny = predict(cost(elementwise("linalg.yield %a : f32", "2x2")), machine)
    assert tiny.bound_by == "launch"
    assert tiny.seconds == pytest.approx(machine.launch, rel=0.05)
    body = "".join(f"%y{i} = math.erf %{f'y{i - 1}' if i else 'a'} : f32\n" for i in range(40))
    functions = predict(cost(elementwise(f"{body}linalg.yield %y39 : f32", "4096x4096")), machine)
    assert functions.bound_by == "special functions"
    assert functions.seconds == pytest.approx(40 * 4096**2 / machine.special["erf"], rel=0.01)


@pytest.mark.parametrize("name", GPUS)
def test_tensor_cores_make_short_products_wait_for_memory(name):
    machine = find_machine(name)
    assert predict(cost(matmul(4096, 4096, 4096, "bf16")), machine).bound_by == "compute"
    assert predict(cost(matmul(4096, 4096, 32, "bf16")), machine).bound_by == "memory"
    ratio = predict(cost(matmul(4096, 4096, 4096)), machine).compute
    ratio /= predict(cost(matmul(4096, 4096, 4096, "bf16")), machine).compute
    assert ratio == pytest.approx(machine.matrix["bf16"] / machine.vector["f32"])


@pytest.mark.parametrize("name", GPUS)
def test_products_take_as_long_as_the_instructions_that_multiply(name):
    machine = find_machine(name)
    flops = 2 * 4096**3
    rounded = cost(matmul(4096, 4096, 4096), lambda kernel: cost_of(kernel, tf32=True))
    for found, rate in [
        (cost(matmul(4096, 4096, 4096)), machine.vector["f32"]),
        (rounded, machine.matrix["tf32"]),
        (cost(matmul(4096, 4096, 4096, "f64", "f64")), machine.vector["f64"]),  # no mma of f64 is made
        (cost(matmul(4096, 4096, 4096, "i8", "i32")), machine.matrix["i8"]),
        (cost(matmul(4096, 4096, 4096, "i32", "i32")), machine.vector["int"]),
        (cost(matmul(4096, 4096, 4096, "f16", "f16")), machine.matrix["f16"]),  # summed in f32
    ]:
        assert predict(found, machine).compute == pytest.approx(flops / rate, rel=1e-6)
        assert predict(found, find_machine("cpu")).compute > 0  # whose vectors do them all


@pytest.mark.parametrize(("rows", "keys", "pairs"), [(4, 4, 10), (2, 5, 3), (5, 2, 9), (1, 7, 1)])
def test_causal_attention_counts_the_scores_that_it_needs(rows, keys, pairs):
    def attention(causal):
        return f"""
#q = affine_map<(d0, d1, d2) -> (d0, d2)>
#k = affine_map<(d0, d1, d2) -> (d1, d2)>
#s = affine_map<(d0, d1, d2) -> (d0, d1)>
#w = affine_map<(d0, d1, d2) -> (d0, d2)>
#v = affine_map<(d0, d1, d2) -> (d2, d1)>
#parallel = #linalg.iterator_type<parallel>
#reduction = #linalg.iterator_type<reduction>
func.func private @k(%q: tensor<{rows}x8xf32>, %k: tensor<{keys}x8xf32>, %v: tensor<{keys}x16xf32>,
    %e: tensor<{rows}x{keys}xf32>, %o: tensor<{rows}x16xf32>) -> tensor<{rows}x16xf32> {{
  %s = linalg.generic {{indexing_maps = [#q, #k, #s], iterator_types = ["parallel", "parallel", "reduction"]}}
      ins(%q, %k : tensor<{rows}x8xf32>, tensor<{keys}x8xf32>) outs(%e : tensor<{rows}x{keys}xf32>) {{
  ^bb0(%a: f32, %b: f32, %c: f32):
    %m = arith.mulf %a, %b : f32
    %t = arith.addf %c, %m : f32
    linalg.yield %t : f32
  }} -> tensor<{rows}x{keys}xf32>
  %r = "mlopt.attention"(%s, %v, %o) {{causal = {causal} : i64, zero_rows = false, zero_nans = false,
      indexing_maps = [#w, #v, #s], iterator_types = [#parallel, #parallel, #reduction]}}
      : (tensor<{rows}x{keys}xf32>, tensor<{keys}x16xf32>, tensor<{rows}x16xf32>) -> tensor<{rows}x16xf32>
  return %r : tensor<{rows}x16xf32>
}}"""

    whole, causal = cost(attention(-1)), cost(attention(0))
    assert whole.contracted == {"f32": 2 * rows * keys * (8 + 16)} and whole.special == {"exp": rows * keys}
    assert causal.contracted == {"f32": 2 * pairs * (8 + 16)} and causal.special == {"exp": pairs}
    assert causal.bytes == whole.bytes


def test_arithmetic_that_outweighs_memory_only_together_is_what_binds():
    machine = dataclasses.replace(
        find_machine("cpu"), bandwidth=1.0, launch=0.0, vector={"f32": 2.0}, special={"exp": 1.0}
    )
    found = predict(Cost(10, {}, {"f32": 6}, {"exp": 7}), machine)
    assert (found.seconds, found.bound_by) == (13.0, "special functions")


def test_few_tasks_have_their_processors_share():
    machine = find_machine("a100")
    copy = Cost(2 << 24)
    full, few = predict(copy, machine), predict(copy, machine, 4)
    assert few.memory == pytest.approx(full.memory * 108 / 4)
    assert few.seconds == pytest.approx(machine.launch + few.memory)
    small = Cost(1 << 20)  # a fifth of a launch for all processors
    assert (predict(small, machine).bound_by, predict(small, machine, 4).bound_by) == ("launch", "memory")


def test_each_number_has_its_source():
    for name in ALL:
        machine = find_machine(name)
        tables = tomllib.loads((machines._FOLDER / f"{name}.toml").read_text())
        for table in (each for each in tables.values() if isinstance(each, dict)):
            assert table["source"]
        assert set(machine.special) == set(FUNCTIONS)
        assert set(machine.sources) >= {"memory", "vector", "special", "launch"}
        assert set(machine.vector) == {"f64", "f32", "f16", "bf16", "int"}


def test_chips_have_machines():
    found = {chip: machine_for_chip(chip) for chip in ("sm_80", "sm_90a", "sm_89")}
    assert {chip: machine and machine.name for chip, machine in found.items()} == {
        "sm_80": "a100",
        "sm_90a": "h100",
        "sm_89": None,
    }
    h100, h200 = find_machine("h100"), find_machine("h200")
    assert h200.bandwidth > h100.bandwidth
    assert (h200.vector, h200.matrix, h200.special) == (h100.vector, h100.matrix, h100.special)
    with pytest.raises(LookupError, match="did you mean h100"):
        find_machine("h10")


def test_each_pass_refuses_a_machine_that_nothing_describes():
    passes = [found for found in map(find_pass, pass_names()) if hasattr(found, "machine")]
    assert len(passes) >= 8
    with make_context(), ir.Location.unknown():
        module = ir.Module.create()
        for found in passes:
            with pytest.raises(PassError, match="no description of a machine 'h10'; did you mean h100"):
                found(machine="h10").run(module.operation)


def test_the_host_is_measured_once(tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setattr(host_machine, "_ROWS", 64)
    monkeypatch.setattr(host_machine, "_SIDE", 64)
    monkeypatch.setattr(host_machine, "_REPEATS", 1)
    options = Options.resolve(cache_dir=str(tmp_path))
    told: list[str] = []
    measured = host_machine.host_machine(options, tell=told.append)
    assert told == [host_machine.MEASURING]
    numbers = [measured.bandwidth, *measured.vector.values(), *measured.special.values()]
    assert all(1e5 < number < 1e14 for number in numbers), measured
    assert 0 <= measured.launch < 1e-2
    assert set(measured.special) == set(FUNCTIONS)

    def again(text, arguments):
        raise AssertionError("measured again")

    monkeypatch.setattr(host_machine, "_seconds", again)
    assert host_machine.host_machine(options, tell=told.append) == measured
    assert len(told) == 1
    monkeypatch.setattr(host_machine, "default_threads", lambda: 1234)
    with pytest.raises(AssertionError, match="measured again"):
        host_machine.host_machine(options)


def test_measured_times_become_rates():
    found = host_machine.measure(lambda text, arguments: 0.5, threads=3)
    assert found.bandwidth == 2 * 4 * host_machine._ROWS * host_machine._ROW
    assert found.vector["f64"] == 4 * host_machine._SIDE**3
    assert found.special["exp"] == 2 * 3 * host_machine._TERMS * host_machine._ELEMENTS
    assert found.launch == 0.0
    assert machines.Machine(**json.loads(json.dumps(found.as_dict()))).vector == found.vector


@pytest.mark.parametrize(
    ("machine", "rows", "row", "times"),
    [
        ("cpu", 64, 262144, 1),  # 1 MiB, as much as the L2 cache of a core
        ("cpu", 64, 262208, 2),
        ("a100", 4096, 92592, 1),  # 40 MB of L2 for 108 rows at once
        ("a100", 4096, 92608, 2),
        ("a100", 10, 1000000, 1),  # for 10
        ("a100", 10, 1000064, 2),
    ],
)
def test_a_row_that_no_cache_keeps_is_read_in_each_pass(machine, rows, row, times):
    """x / x.sum(-1): one pass for the sum, one for the division."""
    target = "cpu" if machine == "cpu" else "cuda:sm_80"
    tensor = f"tensor<{rows}x{row}xf32>"
    text = f"""
    func.func private @kernel(%x: {tensor}, %out: {tensor}) -> {tensor} attributes {{mlopt.kernel}} {{
      %zero = arith.constant 0.0 : f32
      %empty = tensor.empty() : tensor<{rows}xf32>
      %none = linalg.fill ins(%zero : f32) outs(%empty : tensor<{rows}xf32>) -> tensor<{rows}xf32>
      %sum = linalg.generic {{indexing_maps = [affine_map<(i, j) -> (i, j)>, affine_map<(i, j) -> (i)>],
          iterator_types = ["parallel", "reduction"]}}
          ins(%x : {tensor}) outs(%none : tensor<{rows}xf32>) {{
      ^bb0(%a: f32, %b: f32):
        %c = arith.addf %a, %b : f32
        linalg.yield %c : f32
      }} -> tensor<{rows}xf32>
      %y = linalg.generic {{indexing_maps = [affine_map<(i, j) -> (i, j)>, affine_map<(i, j) -> (i)>,
          affine_map<(i, j) -> (i, j)>], iterator_types = ["parallel", "parallel"]}}
          ins(%x, %sum : {tensor}, tensor<{rows}xf32>) outs(%out : {tensor}) {{
      ^bb0(%a: f32, %b: f32, %o: f32):
        %c = arith.divf %a, %b : f32
        linalg.yield %c : f32
      }} -> {tensor}
      return %y : {tensor}
    }}"""
    with make_context(), ir.Location.unknown():
        module = ir.Module.parse(text)
        kernel = module.body.operations[0].operation
        domain = kernel_domain(kernel)
        again = bytes_again(domain, find_machine(machine))
        Schedule(target=target.partition(":")[0], machine=machine if machine != "cpu" else "a100").run(
            module.operation
        )
        assert again == (times - 1) * rows * row * 4
        assert BYTES.get(kernel) == cost_of(kernel).bytes + again == (times + 1) * rows * row * 4
