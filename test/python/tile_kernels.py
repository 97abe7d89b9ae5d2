"""Kernels in mlopt-outline's form, as text: what the tests of mlopt-schedule and mlopt-tile compile and run."""

# ruff: noqa: E501 (MLIR as text)

from __future__ import annotations

from collections.abc import Sequence


def tensor(shape: Sequence[int | str], element: str = "f32") -> str:
    return f"tensor<{''.join(f'{size}x' for size in shape)}{element}>"


class Kernel:
    """Collects the ops of one kernel function; values are (name, type) pairs."""

    def __init__(self, name: str) -> None:
        self.name = name
        self.arguments: list[str] = []
        self.lines: list[str] = []
        self.count = 0

    def argument(self, kind: str) -> tuple[str, str]:
        value = f"%a{len(self.arguments)}"
        self.arguments.append(f"{value}: {kind}")
        return value, kind

    def add(self, text: str, kind: str) -> tuple[str, str]:
        self.count += 1
        self.lines.append(f"  %v{self.count} = {text}")
        return f"%v{self.count}", kind

    def constant(self, literal: str, kind: str = "f32") -> tuple[str, str]:
        return self.add(f"arith.constant {literal} : {kind}", kind)

    def empty(self, kind: str) -> tuple[str, str]:
        """A tensor.empty; a dynamic size is that of the first argument's first dim."""
        sizes = []
        if "?" in kind:
            where = self.constant("0", "index")
            first, first_kind = self.arguments[0].split(": ")
            sizes = [self.add(f"tensor.dim {first}, {where[0]} : {first_kind}", "index")[0]] * kind.count("?")
        return self.add(f"tensor.empty({', '.join(sizes)}) : {kind}", kind)

    def fill(self, literal: str, kind: str, out: tuple[str, str] | None = None) -> tuple[str, str]:
        element = kind[kind.rindex("x") + 1 : -1] if "x" in kind else kind[7:-1]
        scalar = self.constant(literal, element)
        out = out or self.empty(kind)
        return self.add(f"linalg.fill ins({scalar[0]} : {element}) outs({out[0]} : {kind}) -> {kind}", kind)

    def generic(
        self,
        maps: str,
        kinds: str,
        ins: Sequence[tuple[str, str]],
        outs: Sequence[tuple[str, str]],
        body: str,
        op: str = "op",
    ) -> tuple[str, str]:
        """``maps``: "d0,d1 -> d0,d1 | d0"; ``kinds``: "pr"; ``body``: "%x:f32, %y:f32 { … }" as in MLIR."""
        dims, results = maps.split("->")
        every = ", ".join(f"affine_map<({dims.strip()}) -> ({each.strip()})>" for each in results.split("|"))
        names = {"p": '"parallel"', "r": '"reduction"'}
        iterators = ", ".join(names[kind] for kind in kinds)
        header, code = body.split("{", 1)
        inputs = ""
        if ins:
            inputs = f"ins({', '.join(v for v, _ in ins)} : {', '.join(t for _, t in ins)}) "
        kind = ", ".join(t for _, t in outs)
        result = kind if len(outs) == 1 else f"({kind})"
        count = "" if len(outs) == 1 else f":{len(outs)}"
        self.count += 1
        self.lines.append(
            f"  %v{self.count}{count} = linalg.generic {{indexing_maps = [{every}], iterator_types = [{iterators}], "
            f'mlopt.op = "{op}"}} {inputs}outs({", ".join(v for v, _ in outs)} : {kind}) {{\n'
            f"  ^bb0({header.strip()}):\n{code.rsplit('}', 1)[0]}\n  }} -> {result}"
        )
        return f"%v{self.count}", kind

    def text(self, *results: tuple[str, str]) -> str:
        kinds = ", ".join(kind for _, kind in results)
        returned = kinds if len(results) == 1 else f"({kinds})"
        return "\n".join(
            [
                f"func.func private @{self.name}({', '.join(self.arguments)}) -> {returned} "
                f'attributes {{mlopt.kernel, mlopt.ops = ["{self.name}"]}} {{',
                *self.lines,
                f"  return {', '.join(value for value, _ in results)} : {kinds}",
                "}",
            ]
        )


def unary(
    kernel: Kernel,
    value: tuple[str, str],
    rank: int,
    code: str,
    out: tuple[str, str] | None = None,
    element: str = "f32",
) -> tuple[str, str]:
    dims = ",".join(f"d{number}" for number in range(rank))
    out = out or kernel.empty(value[1])
    return kernel.generic(
        f"{dims} -> {dims} | {dims}",
        "p" * rank,
        [value],
        [out],
        f"%x: {element}, %o: {element} {{ {code} \n linalg.yield %r : {element} }}",
    )


def relu_chain(rows: int, columns: int) -> str:
    kernel = Kernel("relu_chain")
    kind = tensor((rows, columns))
    x, out = kernel.argument(kind), kernel.argument(kind)
    zero, half = kernel.constant("0.0"), kernel.constant("0.5")
    y = unary(kernel, x, 2, f"%r = arith.maximumf %x, {zero[0]} : f32")
    return kernel.text(
        unary(kernel, y, 2, f"%h = arith.mulf %x, {half[0]} : f32\n %r = arith.addf %h, %h : f32", out)
    )


def softmax(rows: int | str, columns: int, element: str = "f32") -> str:
    kernel = Kernel("softmax")
    kind, row = tensor((rows, columns), element), tensor((rows, 1), element)
    x, out = kernel.argument(kind), kernel.argument(kind)
    top = kernel.generic(
        "d0,d1 -> d0,d1 | d0,0",
        "pr",
        [x],
        [kernel.fill("0xFF80" if element == "bf16" else "-1.0e30", row)],
        f"%x: {element}, %m: {element} {{ %r = arith.maximumf %x, %m : {element}\n linalg.yield %r : {element} }}",
    )
    e = kernel.generic(
        "d0,d1 -> d0,d1 | d0,0 | d0,d1",
        "pp",
        [x, top],
        [kernel.empty(kind)],
        f"%x: {element}, %m: {element}, %o: {element} {{ %d = arith.subf %x, %m : {element}\n"
        f" %r = math.exp %d : {element}\n linalg.yield %r : {element} }}",
    )
    total = kernel.generic(
        "d0,d1 -> d0,d1 | d0,0",
        "pr",
        [e],
        [kernel.fill("0.0", row)],
        f"%x: {element}, %m: {element} {{ %r = arith.addf %x, %m : {element}\n linalg.yield %r : {element} }}",
    )
    return kernel.text(
        kernel.generic(
            "d0,d1 -> d0,d1 | d0,0 | d0,d1",
            "pp",
            [e, total],
            [out],
            f"%x: {element}, %s: {element}, %o: {element} {{ %r = arith.divf %x, %s : {element}\n linalg.yield %r : {element} }}",
        )
    )


def layer_norm(batch: int, rows: int, columns: int) -> str:
    kernel = Kernel("layer_norm")
    kind, row, vector = tensor((batch, rows, columns)), tensor((batch, rows, 1)), tensor((columns,))
    x, gain, bias, out = (kernel.argument(each) for each in (kind, vector, vector, kind))
    count, eps = kernel.constant(f"{columns}.0"), kernel.constant("1.0e-5")
    add = "%x: f32, %s: f32 { %r = arith.addf %x, %s : f32\n linalg.yield %r : f32 }"
    total = kernel.generic("d0,d1,d2 -> d0,d1,d2 | d0,d1,0", "ppr", [x], [kernel.fill("0.0", row)], add)
    mean = unary(kernel, total, 3, f"%r = arith.divf %x, {count[0]} : f32")
    centred = kernel.generic(
        "d0,d1,d2 -> d0,d1,d2 | d0,d1,0 | d0,d1,d2",
        "ppp",
        [x, mean],
        [kernel.empty(kind)],
        "%x: f32, %m: f32, %o: f32 { %r = arith.subf %x, %m : f32\n linalg.yield %r : f32 }",
    )
    square = kernel.generic(
        "d0,d1,d2 -> d0,d1,d2 | d0,d1,0",
        "ppr",
        [centred],
        [kernel.fill("0.0", row)],
        "%x: f32, %s: f32 { %q = arith.mulf %x, %x : f32\n %r = arith.addf %s, %q : f32\n"
        " linalg.yield %r : f32 }",
    )
    scale = unary(
        kernel,
        square,
        3,
        f"%v = arith.divf %x, {count[0]} : f32\n %e = arith.addf %v, {eps[0]} : f32\n"
        " %r = math.rsqrt %e : f32",
    )
    return kernel.text(
        kernel.generic(
            "d0,d1,d2 -> d0,d1,d2 | d0,d1,0 | d2 | d2 | d0,d1,d2",
            "ppp",
            [centred, scale, gain, bias],
            [out],
            "%x: f32, %s: f32, %g: f32, %b: f32, %o: f32 { %n = arith.mulf %x, %s : f32\n %m = arith.mulf %n, %g : f32\n"
            " %r = arith.addf %m, %b : f32\n linalg.yield %r : f32 }",
        )
    )


MATMUL_MAPS = "m,n,k -> m,k | k,n | m,n"
MAC = "%x: f32, %y: f32, %s: f32 { %p = arith.mulf %x, %y : f32\n %r = arith.addf %s, %p : f32\n linalg.yield %r : f32 }"


def matmul(
    m: int | str, n: int, k: int, maps: str = MATMUL_MAPS, a: tuple[int | str, int] | None = None
) -> str:
    """A product alone."""
    kernel = Kernel("matmul")
    x, w, out = (
        kernel.argument(tensor(a or (m, k))),
        kernel.argument(tensor((k, n))),
        kernel.argument(tensor((m, n))),
    )
    return kernel.text(kernel.generic(maps, "ppr", [x, w], [kernel.fill("0.0", out[1], out)], MAC))


def matmul_bias_gelu(m: int, n: int, k: int) -> str:
    kernel = Kernel("matmul_bias_gelu")
    kind = tensor((m, n))
    x, w, bias, out = (kernel.argument(tensor(shape)) for shape in ((m, k), (k, n), (n,), (m, n)))
    product = kernel.generic(MATMUL_MAPS, "ppr", [x, w], [kernel.fill("0.0", kind)], MAC)
    half, one, root = kernel.constant("0.5"), kernel.constant("1.0"), kernel.constant("0.707106769")
    return kernel.text(
        kernel.generic(
            "m,n -> m,n | n | m,n",
            "pp",
            [product, bias],
            [out],
            "%x: f32, %b: f32, %o: f32 { %y = arith.addf %x, %b : f32\n"
            f" %h = arith.mulf %y, {half[0]} : f32\n %q = arith.mulf %y, {root[0]} : f32\n %e = math.erf %q : f32\n"
            f" %i = arith.addf %e, {one[0]} : f32\n %r = arith.mulf %h, %i : f32\n linalg.yield %r : f32 }}",
        )
    )


def conv_relu(n: int, ci: int, co: int, size: int, window: int, dilation: int = 1) -> str:
    kernel = Kernel("conv_relu")
    padded = size + (window - 1) * dilation
    x, w, bias, out = (
        kernel.argument(tensor(shape))
        for shape in ((n, ci, padded, padded), (ci, window, window, co), (co,), (n, co, size, size))
    )
    step = f" * {dilation}" if dilation > 1 else ""
    product = kernel.generic(
        f"n,co,oh,ow,ci,kh,kw -> n,ci,oh + kh{step},ow + kw{step} | ci,kh,kw,co | n,co,oh,ow",
        "pppprrr",
        [x, w],
        [kernel.fill("0.0", out[1])],
        MAC,
    )
    zero = kernel.constant("0.0")
    return kernel.text(
        kernel.generic(
            "n,co,oh,ow -> n,co,oh,ow | co | n,co,oh,ow",
            "pppp",
            [product, bias],
            [out],
            f"%x: f32, %b: f32, %o: f32 {{ %y = arith.addf %x, %b : f32\n %r = arith.maximumf %y, {zero[0]} : f32\n"
            " linalg.yield %r : f32 }",
        )
    )


def column_sum(rows: int | str, columns: int) -> str:
    kernel = Kernel("column_sum")
    x, out = kernel.argument(tensor((rows, columns))), kernel.argument(tensor((columns,)))
    return kernel.text(
        kernel.generic(
            "m,n -> m,n | n",
            "rp",
            [x],
            [kernel.fill("0.0", out[1], out)],
            "%x: f32, %s: f32 { %r = arith.addf %s, %x : f32\n linalg.yield %r : f32 }",
        )
    )


def scaled_weights(channels: int, lengths: Sequence[int]) -> str:
    """Convolutions' weights, transposed, with a batch norm's scale of each channel; and its shift."""
    kernel = Kernel("scaled_weights")
    columns = tensor((channels,))
    layers = []
    for length in lengths:
        weight = kernel.argument(tensor((channels, length)))
        layers.append((length, weight, *(kernel.argument(columns) for _ in range(4))))
    results = []
    for length, weight, variance, gain, mean, bias in layers:
        turned = tensor((length, channels))
        scale = kernel.generic(
            "a -> a | a | a", "p", [variance, gain], [kernel.empty(columns)],
            "%v: f32, %g: f32, %o: f32 { %e = arith.constant 1.0e-5 : f32 %w = arith.addf %v, %e : f32 "
            "%r = math.rsqrt %w : f32 %s = arith.mulf %r, %g : f32 linalg.yield %s : f32 }",
        )  # fmt: skip
        shift = kernel.generic(
            "a -> a | a | a | a", "p", [mean, scale, bias], [kernel.argument(columns)],
            "%m: f32, %s: f32, %b: f32, %o: f32 { %n = arith.negf %m : f32 %t = arith.mulf %n, %s : f32 "
            "%r = arith.addf %t, %b : f32 linalg.yield %r : f32 }",
        )  # fmt: skip
        moved = kernel.generic(
            "a,b -> b,a | a,b", "pp", [weight], [kernel.empty(turned)],
            "%w: f32, %o: f32 { linalg.yield %w : f32 }",
        )  # fmt: skip
        scaled = kernel.generic(
            "a,b -> a,b | b | a,b", "pp", [moved, scale], [kernel.argument(turned)],
            "%w: f32, %s: f32, %o: f32 { %r = arith.mulf %w, %s : f32 linalg.yield %r : f32 }",
        )  # fmt: skip
        results += [shift, scaled]
    return kernel.text(*results)


def generic_kernel(
    name: str,
    kinds: Sequence[str],
    maps: str,
    iterators: str,
    body: str,
    outs: int = 1,
    inits: Sequence[str | None] = (),
    prefix: str = "",
) -> str:
    """One generic; ``kinds`` are the arguments' types, the last ``outs`` the results'; ``inits`` are filled in."""
    kernel = Kernel(name)
    arguments = [kernel.argument(kind) for kind in kinds]
    if prefix:
        kernel.lines.append(prefix)
    results = arguments[len(arguments) - outs :]
    ready = [
        kernel.fill(init, out[1], out) if init else out
        for init, out in zip(inits or [None] * outs, results, strict=True)
    ]
    inputs = arguments[: len(arguments) - outs]
    if "|" in maps:
        inputs = inputs[: maps.count("|") + 1 - outs]
    value, kind = kernel.generic(maps, iterators, inputs, ready, body, name)
    if outs == 1:
        return kernel.text((value, kind))
    return kernel.text(*((f"{value}#{number}", out[1]) for number, out in enumerate(results)))
