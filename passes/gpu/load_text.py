"""The text of `mlopt_load`, which loads the device code and looks the kernels up."""

from __future__ import annotations

from collections.abc import Sequence

from ...dialects.launch_state import FUNCTIONS, GET_FUNCTION, IMAGE, JIT_LEVEL, LOAD, LOAD_JIT, MODULE, SIZE

STATE = "mlopt_state"


def load_module_text(kernels: Sequence[str]) -> str:
    """`@mlopt_load` for ``kernels``, the variable that keeps its argument, and the kernels' names."""
    names = [
        f'llvm.mlir.global private constant @mlopt_name_{number}("{name}\\00")'
        for number, name in enumerate(kernels)
    ]
    return "\n".join([*names, _STATE_GLOBAL, *_load_function(len(kernels))])


_STATE_GLOBAL = f"""llvm.mlir.global internal @{STATE}() : !llvm.ptr {{
  %null = llvm.mlir.zero : !llvm.ptr
  llvm.return %null : !llvm.ptr
}}"""


def _load_function(kernels: int) -> list[str]:
    pointer = "!llvm.ptr"
    return [
        "llvm.func @mlopt_load(%state: !llvm.ptr) -> i32 {",
        f"  %kept = llvm.mlir.addressof @{STATE} : !llvm.ptr",
        "  llvm.store %state, %kept : !llvm.ptr, !llvm.ptr",
        "  %null = llvm.mlir.zero : !llvm.ptr",
        "  %zero = llvm.mlir.constant(0 : i64) : i64",
        *_word("image", IMAGE, pointer),
        *_word("size", SIZE, "i64"),
        *_word("level", JIT_LEVEL, "i64"),
        *_word("get", GET_FUNCTION, pointer),
        '  %jit = llvm.icmp "sge" %level, %zero : i64',
        "  llvm.cond_br %jit, ^jit, ^plain",
        "^jit:",
        *_word("load_jit", LOAD_JIT, pointer),
        "  %short = llvm.trunc %level : i64 to i32",
        "  %compiled = llvm.call %load_jit(%image, %short, %size)"
        " : !llvm.ptr, (!llvm.ptr, i32, i64) -> !llvm.ptr",
        "  llvm.br ^loaded(%compiled : !llvm.ptr)",
        "^plain:",
        *_word("load", LOAD, pointer),
        "  %plain = llvm.call %load(%image, %size) : !llvm.ptr, (!llvm.ptr, i64) -> !llvm.ptr",
        "  llvm.br ^loaded(%plain : !llvm.ptr)",
        "^loaded(%module: !llvm.ptr):",
        f"  %module_at = llvm.getelementptr %state[{MODULE}] : (!llvm.ptr) -> !llvm.ptr, i64",
        "  llvm.store %module, %module_at : !llvm.ptr, !llvm.ptr",
        *_go_on("module", -1, "^kernel0"),
        *(line for number in range(kernels) for line in _look_up(number)),
        f"^kernel{kernels}:",
        "  %fine = llvm.mlir.constant(0 : i32) : i32",
        "  llvm.return %fine : i32",
        "^fail(%code: i32):",
        "  llvm.return %code : i32",
        "}",
    ]


def _word(name: str, place: int, type_: str) -> list[str]:
    return [
        f"  %{name}_at = llvm.getelementptr %state[{place}] : (!llvm.ptr) -> !llvm.ptr, i64",
        f"  %{name} = llvm.load %{name}_at : !llvm.ptr -> {type_}",
    ]


def _look_up(number: int) -> list[str]:
    name = f"function{number}"
    return [
        f"^kernel{number}:",
        f"  %name{number} = llvm.mlir.addressof @mlopt_name_{number} : !llvm.ptr",
        f"  %{name} = llvm.call %get(%module, %name{number})"
        " : !llvm.ptr, (!llvm.ptr, !llvm.ptr) -> !llvm.ptr",
        f"  %{name}_at = llvm.getelementptr %state[{FUNCTIONS + number}] : (!llvm.ptr) -> !llvm.ptr, i64",
        f"  llvm.store %{name}, %{name}_at : !llvm.ptr, !llvm.ptr",
        *_go_on(name, number + 1, f"^kernel{number + 1}"),
    ]


def _go_on(name: str, code: int, block: str) -> list[str]:
    """Go to ``block``, or fail with ``code`` if ``name`` is null."""
    return [
        f'  %{name}_fine = llvm.icmp "ne" %{name}, %null : !llvm.ptr',
        f"  %{name}_code = llvm.mlir.constant({code} : i32) : i32",
        f"  llvm.cond_br %{name}_fine, {block}, ^fail(%{name}_code : i32)",
    ]
