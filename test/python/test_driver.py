"""Pipelines: their text, their options, what happens on errors, and who may watch."""

from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import ClassVar

import pytest
from mlir import ir
from mlopt.dialects.context import make_context
from mlopt.passes.base import Pass
from mlopt.passes.options import OptionError, format_pass, parse_options
from mlopt.passes.registry import find_pass, load_plugin, pass_names
from mlopt.pipelines import stages
from mlopt.pipelines.diagnostics import Diagnostic, PipelineError
from mlopt.pipelines.driver import PassEvent, run_pipeline
from mlopt.pipelines.stages import Stage, no_memory_of_type, run_stages, vectors_of_at_most
from mlopt.pipelines.text import PipelineSyntaxError, parse_pipeline
from mlopt.runtime.ir_text import printed

PLANTED = Path(__file__).parent.parent / "tools" / "Inputs" / "planted.py"
TEXT = """
func.func @f(%a: i32) -> i32 {
  %c = arith.constant 0 : i32
  %0 = arith.addi %a, %c : i32
  return %0 : i32
}
func.func @g() { return }
"""


@pytest.fixture(scope="module", autouse=True)
def _planted_passes() -> None:
    load_plugin(PLANTED)


@pytest.fixture
def module() -> Iterator[ir.Module]:
    with make_context(), ir.Location.unknown():
        yield ir.Module.parse(TEXT)


def run(module: ir.Module, elements: str, **options: object) -> None:
    run_pipeline(module.operation, f"builtin.module({elements})", **options)


# --- text


@pytest.mark.parametrize(
    "text",
    [
        "builtin.module()",
        "builtin.module(mlopt-a,func.func(mlopt-b{size=8},canonicalize{max-iterations=2},cse),gpu.module(x))",
        'builtin.module(a{name="x, (y" other={1,2}})',
    ],
)
def test_text_survives_a_round_trip(text: str) -> None:
    assert str(parse_pipeline(text)) == text
    assert parse_pipeline(str(parse_pipeline(text))) == parse_pipeline(text)


def test_text_may_have_line_breaks_comments_and_a_last_comma() -> None:
    text = """
        builtin.module(
          a,  // why a is first
          func.func(
            b{size=8},
          ),
        )"""
    assert str(parse_pipeline(text)) == "builtin.module(a,func.func(b{size=8}))"


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("a", r"say what it runs on: builtin.module\(a\)"),
        ("builtin.module(a", r"expected ',' or '\)'"),
        ("builtin.module(a) b", "expected the end"),
        ("builtin.module(,a)", "expected the name"),
        ("builtin.module(a{x=1)", "never closed"),
        ("", "expected the name"),
    ],
)
def test_wrong_text_is_marked(text: str, message: str) -> None:
    with pytest.raises(PipelineSyntaxError, match=message):
        parse_pipeline(text)


# --- options


def test_options_are_typed_by_the_fields() -> None:
    note = parse_options(find_pass("mlopt-test-note"), 'size=8 sizes=1,2 loud text-value="a b" factor=0.5')
    assert (note.size, note.sizes, note.loud, note.text_value, note.factor) == (8, (1, 2), True, "a b", 0.5)  # type: ignore[attr-defined]
    assert format_pass(note) == 'mlopt-test-note{size=8 sizes=1,2 loud=true text-value="a b" factor=0.5}'
    assert parse_options(type(note), format_pass(note)[len("mlopt-test-note{") : -1]) == note
    assert format_pass(type(note)()) == "mlopt-test-note"


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("siz=1", "no option 'siz'; did you mean 'size'"),
        ("zzz=1", "no option 'zzz'; it has size, sizes, loud, text-value, factor"),
        ("size=x", "'size' takes a value of type int, not 'x'"),
        ("size", "'size' takes a value of type int, not nothing"),
        ("sizes=1,b", "'sizes' takes a value of type list of integers, not '1,b'"),
        ("loud=maybe", "'loud' takes a value of type bool, not 'maybe'"),
        ("size=1 size=2", "given twice"),
        ("=1", "cannot read its options from '=1'"),
    ],
)
def test_wrong_options_are_named(text: str, message: str) -> None:
    with pytest.raises(OptionError, match=message):
        parse_options(find_pass("mlopt-test-note"), text)


# --- the registry


def test_every_listed_pass_loads_and_has_a_summary() -> None:
    from mlopt.passes.registry import summary_of

    names = pass_names()
    assert "mlopt-verify" in names
    assert all(find_pass(name).name == name and summary_of(find_pass(name)) for name in names)


def test_a_plug_in_may_call_its_passes_as_it_likes(tmp_path: Path, module: ir.Module) -> None:
    path = tmp_path / "mine.py"
    path.write_text(PLANTED.read_text().replace('"mlopt-test-', '"mine-'))
    name = next(name for name in load_plugin(path) if name.endswith("refuse"))
    with pytest.raises(PipelineError, match=name):
        run(module, f"func.func({name})")


def test_a_plug_in_must_define_passes(tmp_path: Path) -> None:
    (tmp_path / "empty.py").write_text("")
    with pytest.raises(ImportError, match="defines no subclass"):
        load_plugin(tmp_path / "empty.py")
    with pytest.raises(FileNotFoundError, match="not a Python file"):
        load_plugin(tmp_path / "missing.py")


# --- running


def test_upstream_passes_and_ours_nest_at_will(module: ir.Module) -> None:
    run(module, "func.func(mlopt-test-note{size=8},canonicalize{max-iterations=2},cse),symbol-dce")
    assert str(module).count('noted = "8 ') == 2
    assert "arith" not in str(module)


def test_no_passes_change_nothing(module: ir.Module) -> None:
    before = str(module)
    run(module, "")
    run(module, "func.func()")
    assert str(module) == before


def test_events_come_in_order_with_their_operations(module: ir.Module) -> None:
    events: list[tuple[str, str]] = []

    def observe(event: PassEvent) -> None:
        assert event.seconds >= 0
        events.append((event.pass_text, event.operation.name))

    run(module, "cse,func.func(canonicalize,mlopt-test-note),symbol-dce", observers=[observe])
    nested = [("canonicalize", "func.func"), ("mlopt-test-note", "func.func")]
    assert events == [("cse", "builtin.module"), *nested, *nested, ("symbol-dce", "builtin.module")]


def test_an_error_of_a_pass_has_its_place_and_its_name(module: ir.Module) -> None:
    seen: list[Diagnostic] = []
    with pytest.raises(PipelineError) as caught:
        run(module, "cse,func.func(canonicalize,mlopt-test-refuse,cse)", on_diagnostic=seen.append)
    assert caught.value.pass_name == "mlopt-test-refuse"
    assert caught.value.diagnostics == tuple(seen)
    assert str(seen[0]) == "-:2:1: error: this function is refused"


def test_an_upstream_error_has_its_place_and_its_name(module: ir.Module) -> None:
    with pytest.raises(PipelineError) as caught:
        run(module, "cse,func.func(canonicalize,symbol-dce)")
    assert caught.value.pass_name == "symbol-dce"
    assert "see current operation" not in str(caught.value)
    assert caught.value.diagnostics[0].line == 2


def test_invalid_ir_is_found_after_the_pass_that_made_it(module: ir.Module) -> None:
    with pytest.raises(PipelineError, match="invalid IR after pass mlopt-test-break") as caught:
        run(module, "func.func(mlopt-test-break,canonicalize)")
    assert "entry block" in str(caught.value)


def test_the_first_function_that_fails_is_reported_whatever_runs_after(module: ir.Module) -> None:
    with pytest.raises(PipelineError) as caught:
        run(module, "func.func(cse,symbol-dce,canonicalize),symbol-dce")
    assert caught.value.pass_name == "symbol-dce"
    with pytest.raises(PipelineError) as caught:
        run(module, "func.func(mlopt-test-refuse,mlopt-test-note)")
    assert caught.value.pass_name == "mlopt-test-refuse"
    assert len(caught.value.diagnostics) == 1
    assert "noted" not in str(module)


def test_verification_can_be_left_out(module: ir.Module) -> None:
    run(module, "func.func(mlopt-test-break)", verify_each=False)


def test_a_bug_in_a_pass_comes_out_as_it_is_and_the_context_lives_on(module: ir.Module) -> None:
    with pytest.raises(KeyError, match="a bug in a pass") as caught:
        run(module, "cse,mlopt-test-raise,canonicalize")
    assert any("in pass mlopt-test-raise" in note for note in caught.value.__notes__)
    module.context.get_dialect_descriptor("spirv")  # would abort in a context left half-way
    run(module, "canonicalize")


def test_an_exception_of_an_observer_stops_the_run(module: ir.Module) -> None:
    def interrupt(_: PassEvent) -> None:
        raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        run(module, "cse,func.func(mlopt-test-note)", observers=[interrupt])
    assert "noted" not in str(module)


@pytest.mark.parametrize(
    ("elements", "message"),
    [
        (
            "mlopt-test-note",
            r"runs on 'func.func', not on 'builtin.module'; write func.func\(mlopt-test-note\)",
        ),
        ("func.func(mlopt-verify)", "runs on 'builtin.module', not on 'func.func'"),
        ("mlopt-verfy", "unknown pass 'mlopt-verfy'; did you mean 'mlopt-verify'"),
        ("canonicalise", "unknown pass 'canonicalise'; did you mean 'canonicalize'"),
        ("canonicalize{max-iterations=x}", "max-iterations=x"),
    ],
)
def test_a_pipeline_that_cannot_be_built_says_why(module: ir.Module, elements: str, message: str) -> None:
    with pytest.raises(PipelineError, match=message):
        run(module, elements)


def test_a_pipeline_may_anchor_elsewhere(module: ir.Module) -> None:
    function = module.body.operations[0].operation
    run_pipeline(function, "func.func(mlopt-test-note,canonicalize)")
    assert str(module).count("noted") == 1


# --- stages


def test_a_stage_checks_what_remains(module: ir.Module) -> None:
    Stage("fine", "cse", ("builtin", "func", "arith")).run(module.operation)
    with pytest.raises(PipelineError) as caught:
        Stage("lowered", "cse", ("builtin", "func", "arith.constant")).run(module.operation)
    assert "stage 'lowered' broke its contract" in str(caught.value)
    assert "-:4:8: error: 'arith.addi' may not remain after stage 'lowered'" in str(caught.value)


def test_a_stage_names_itself_in_a_pass_error(module: ir.Module) -> None:
    with pytest.raises(PipelineError, match="stage 'a': pass mlopt-test-refuse failed"):
        Stage("a", "func.func(mlopt-test-refuse)").run(module.operation)


@pytest.mark.parametrize("foreign", [True, False])
def test_a_stage_names_the_pass_that_left_invalid_ir(
    module: ir.Module, foreign: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    """What mlopt's own passes leave is verified at the stage's end, what others leave at once."""
    monkeypatch.setattr("mlopt.pipelines.stages.is_foreign", lambda _: foreign)
    stage = Stage("a", f"func.func(mlopt-test-break){',mlopt-test-raise' * foreign}")
    with pytest.raises(PipelineError, match="stage 'a': invalid IR after pass mlopt-test-break") as caught:
        stage.run(module.operation)
    assert "entry block" in str(caught.value)
    assert caught.value.pass_name == "mlopt-test-break"


def test_a_stage_names_the_pass_whose_ir_another_one_fails_on(
    module: ir.Module, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("mlopt.pipelines.stages.is_foreign", lambda _: False)
    with pytest.raises(PipelineError, match="invalid IR after pass mlopt-test-break"):
        Stage("a", "func.func(mlopt-test-break),mlopt-test-raise").run(module.operation)


def test_a_refusal_in_a_stage_is_not_asked_for_again(
    module: ir.Module, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("mlopt.pipelines.stages.is_foreign", lambda _: False)
    runs: list[object] = []
    run_once = stages.run_pipeline
    monkeypatch.setattr(stages, "run_pipeline", lambda *a, **k: (runs.append(a), run_once(*a, **k)))
    with pytest.raises(PipelineError, match="stage 'a': pass mlopt-test-refuse failed"):
        Stage("a", "func.func(mlopt-test-refuse)").run(module.operation)
    assert len(runs) == 1


def test_rules_of_a_stage() -> None:
    text = """func.func @f(%x: f32, %i: i1) {
      %0 = vector.broadcast %x : f32 to vector<64xf32>
      %1 = vector.broadcast %x : f32 to vector<65xf32>
      %2 = vector.broadcast %x : f32 to vector<2x2xf32>
      %3 = memref.alloca() : memref<4xi1>
      return
    }"""
    rules = (vectors_of_at_most(2048), no_memory_of_type("i1", "it has no layout"))
    with make_context(), ir.Location.unknown():
        module = ir.Module.parse(text)
        with pytest.raises(PipelineError) as caught:
            Stage("narrow", "", rules=rules).check(module.operation)
    assert [diagnostic.line for diagnostic in caught.value.diagnostics] == [3, 4, 5]


def test_stages_run_up_to_one_of_them(module: ir.Module) -> None:
    three = [Stage("a", "cse"), Stage("b", "canonicalize"), Stage("c", "mlopt-test-raise")]
    done: list[str] = []
    run_stages(module.operation, three, stop_after="b", after_stage=lambda name, _: done.append(name))
    assert done == ["a", "b"]
    with pytest.raises(PipelineError, match="no stage 'd'; the stages are a, b, c"):
        run_stages(module.operation, three, stop_after="d")


def test_a_pass_may_run_on_any_operation(module: ir.Module, tmp_path: Path) -> None:
    @dataclass(frozen=True)
    class Anywhere(Pass):
        """Count."""

        name: ClassVar[str] = "mlopt-test-anywhere"
        op_name: ClassVar[str] = "any"

        def run(self, op: ir.Operation) -> None:
            op.attributes["test.seen"] = ir.UnitAttr.get()

    from mlopt.passes import registry

    registry._plugins[Anywhere.name] = Anywhere
    try:
        run(module, "mlopt-test-anywhere,func.func(mlopt-test-anywhere)")
    finally:
        del registry._plugins[Anywhere.name]
    assert str(module).count("test.seen") == 3


@pytest.mark.parametrize("flags", [{}, {"enable_debug_info": True}, {"assume_verified": True}], ids=str)
def test_text_is_what_the_bindings_print(flags: dict[str, bool]) -> None:
    with make_context(), ir.Location.unknown():
        module = ir.Module.parse(f'{TEXT}\nfunc.func private @h() loc("given.py":3:1)')
        text = printed(module.operation, **flags)
        assert text == module.operation.get_asm(**flags)
        assert ("given.py" in text) == ("enable_debug_info" in flags)
