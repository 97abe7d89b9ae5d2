"""What Dynamo knows of the function that it compiles just now."""

from __future__ import annotations

import re
from dataclasses import dataclass
from types import CodeType
from typing import Any

from torch._dynamo.exc import Unsupported
from torch._dynamo.output_graph import GraphCompileReason
from torch._dynamo.symbolic_convert import InstructionTranslator
from torch._dynamo.utils import (
    CompilationMetrics,
    get_compilation_metrics,
    graph_break_reasons,
    guard_failures,
)
from torch._guards import CompileContext
from torch.fx import GraphModule

from ..frontends.source_lines import TORCH_FOLDER, source_line

_RESUMED = re.compile(r"torch_dynamo_resume_in_(.+)_at_(\d+)")


@dataclass(frozen=True)
class Frame:
    """A function that Dynamo compiled, number ``attempt`` of its compilations (0: the first).

    ``guard`` says which guard made Dynamo compile it again; ``graph_break`` why its graph ends
    before the function does, and at which of the user's lines.
    """

    function: str
    line: str
    compile_id: str
    attempt: int = 0
    guard: str = ""
    graph_break: str = ""


def current_frame(module: GraphModule) -> Frame:
    """The function whose graph ``module`` is."""
    code = InstructionTranslator.current_tx().f_code
    name, line = _name(module, code)
    compile_id: Any = CompileContext.current_compile_id()
    attempt = compile_id.frame_compile_id or 0 if compile_id is not None else 0
    failures = guard_failures.get(code, [])[-attempt:]  # one for each earlier compilation
    return Frame(
        name,
        line,
        str(compile_id or ""),
        attempt,
        "; ".join(dict.fromkeys(map(_guard, failures))) if attempt else "",
        _graph_break(module),
    )


def _name(module: GraphModule, code: CodeType) -> tuple[str, str]:
    """The function and its line; of a module that is torch's own, its class and the first line in it."""
    resumed = _RESUMED.fullmatch(code.co_name)
    name = f"{resumed[1]}, resumed at line {resumed[2]}" if resumed else code.co_name
    if not code.co_filename.startswith(TORCH_FOLDER):
        return name, f"{code.co_filename}:{code.co_firstlineno}"
    for node in module.graph.nodes:
        for _, kind in (node.meta.get("nn_module_stack") or {}).values():
            return getattr(kind, "__name__", str(kind).rsplit(".", 1)[-1]), str(source_line(node) or "")
    return name, ""


def _guard(text: str) -> str:
    """``0/0: tensor 'x' size mismatch at index 0`` without the number of the compilation."""
    head, _, rest = " ".join(text.splitlines()[0].split()).partition(": ")
    return rest if re.fullmatch(r"\d+/\d+\S*", head) else text


def _graph_break(module: GraphModule) -> str:
    reason = getattr(module, "compile_subgraph_reason", None)
    return _break_text(reason) if reason is not None and reason.graph_break else ""


def graph_breaks() -> tuple[str, ...]:
    """Why and where Dynamo ended graphs early since its last reset; it has no graph for some."""
    return tuple(map(_break_text, graph_break_reasons))


def skipped_frames(since: float) -> tuple[str, ...]:
    """Functions that Dynamo left to eager as a whole after ``since`` (of `time.time`), and why."""
    known = [each for each in get_compilation_metrics() if (each.start_time or 0) > since]
    return tuple(dict.fromkeys(_skip_text(each) for each in known if each.fail_type == Unsupported.__name__))


def _skip_text(metrics: CompilationMetrics) -> str:
    # Of one break, or of one that led to another: what it is, on a line of its own before the explanation.
    reason = "; ".join(re.findall(r"^(\S.*)\n  Explanation", metrics.fail_reason or "", re.MULTILINE))
    name = f"{metrics.co_name} at {metrics.co_filename}:{metrics.co_firstlineno}"
    return f"{name}: {reason}, at {metrics.fail_user_frame_filename}:{metrics.fail_user_frame_lineno}"


def _break_text(reason: GraphCompileReason) -> str:
    text = " ".join(str(reason.reason).split("\n\n")[0].split())
    if not reason.user_stack:
        return text
    last = reason.user_stack[-1]
    return f"{text}, at {last.filename}:{last.lineno}"
