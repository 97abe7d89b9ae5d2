"""``mlopt``: compile a program and look at it, run it, or examine the installation."""

from __future__ import annotations

import json
import sys
from pathlib import Path
from typing import Annotated

import typer
from rich.console import Console
from rich.table import Table

from ..errors import InputError, MloptError

app = typer.Typer(help=__doc__, no_args_is_help=True, add_completion=False, pretty_exceptions_enable=False)
_out = Console()
_err = Console(stderr=True)

Source = Annotated[
    str, typer.Argument(help="FILE.mlir, or FILE.py:FUNCTION that returns (module, *example_inputs)")
]
Target = Annotated[str | None, typer.Option(help="What to compile for.", show_default="MLOPT_TARGET, or cpu")]
Function = Annotated[str, typer.Option("--func", help="The function of an .mlir file that is called.")]
Cpu = Annotated[
    str | None,
    typer.Option(help="The processor, by LLVM's name; host is this one.", show_default="MLOPT_CPU, or host"),
]
OptLevel = Annotated[
    int | None,
    typer.Option(
        "--opt-level",
        "-O",
        min=0,
        max=3,
        help="LLVM's optimization level.",
        show_default="MLOPT_OPT_LEVEL, or 2",
    ),
]


@app.command("compile")
def compile_command(
    source: Source,
    output: Annotated[
        Path | None,
        typer.Option("-o", "--output", help="Folder for each stage's IR, the machine code and the report."),
    ] = None,
    stage: Annotated[
        str | None, typer.Option(help="Print the program after this stage, and nothing else.")
    ] = None,
    func: Function = "main",
    target: Target = None,
    cpu: Cpu = None,
    opt_level: OptLevel = None,
) -> None:
    """Compile a program: print its kernels, or a stage of it, or write everything to a folder."""
    from . import programs

    compiled = programs.compile_source(source, func, target=target, cpu=cpu, opt_level=opt_level)
    if stage is not None:
        print(programs.stage_text(compiled, stage))
        return
    _out.print(str(compiled.report), highlight=False, markup=False, soft_wrap=True)
    if output is not None:
        for path in programs.write_stages(compiled, output):
            _out.print(f"wrote {path}", highlight=False, markup=False, soft_wrap=True)


@app.command("explain")
def explain_command(
    source: Annotated[
        str,
        typer.Argument(
            help="FILE.mlir, FILE.py:FUNCTION that returns (module, *example_inputs),"
            " or FILE.pt2 of torch.export.save"
        ),
    ],
    func: Function = "main",
    target: Target = None,
    machine: Annotated[
        str,
        typer.Option(
            help="Whose speed predicts times: host (this CPU, measured once), cpu, a100, h100, h200;"
            " by default host, or the target's first GPU."
        ),
    ] = "",
    as_json: Annotated[bool, typer.Option("--json", help="Print everything as JSON.")] = False,
    svg: Annotated[
        Path | None, typer.Option(help="Draw the kernels and what goes between them into this file, too.")
    ] = None,
    layout: Annotated[
        bool, typer.Option("--layout", help="Draw instead which thread of a GPU holds which elements.")
    ] = False,
) -> None:
    """Say what each kernel holds, costs and is bound by, and why kernels were not fused. Runs nothing."""
    from . import explain, explain_layout, explain_svg, explain_text

    if layout:
        kernels = explain_layout.kernels_of(source, func, target)
        print(json.dumps(kernels, indent=2) if as_json else explain_layout.text(kernels))
        return
    explained = explain.explain(source, func, target, machine)
    if svg is not None:
        explain_svg.write(explained, svg)
    print(json.dumps(explained.as_dict(), indent=2) if as_json else explain_text.text(explained))


@app.command("run")
def run_command(
    file: Annotated[Path, typer.Argument(help="FILE.mlir")],
    inputs: Annotated[
        list[Path] | None,
        typer.Option("--input", "-i", help="A .npy file for each argument, in order; else random."),
    ] = None,
    output: Annotated[
        Path | None, typer.Option("-o", "--output", help="Folder for the results, as .npy.")
    ] = None,
    size: Annotated[int, typer.Option(min=0, help="What a dynamic size is in random inputs.")] = 8,
    seed: Annotated[int, typer.Option(help="Of the random inputs.")] = 0,
    repeat: Annotated[int, typer.Option(min=1, help="How many calls are timed.")] = 10,
    func: Function = "main",
    target: Target = None,
    cpu: Cpu = None,
    opt_level: OptLevel = None,
) -> None:
    """Compile an .mlir file and run it: prints shapes, values and times."""
    from . import programs, running

    program = running.load(programs.read_mlir(file), func, target=target, cpu=cpu, opt_level=opt_level)
    arguments = running.arguments(program, inputs or [], size, seed)
    outcome = running.measure(program, arguments, repeat)
    table = Table("", "dtype", "shape", "values", box=None, pad_edge=False)
    for title, arrays in (("argument", arguments), ("result", outcome.results)):
        for number, array in enumerate(arrays):
            table.add_row(f"{title} {number}", *running.describe(array))
    _out.print(table, highlight=False)
    _out.print(
        f"compiled in {program.seconds:.2f} s, first call {outcome.first * 1e6:.1f} µs,"
        f" then {outcome.median * 1e6:.1f} µs (median of {repeat})",
        highlight=False,
    )
    if output is not None:
        for path in running.save(outcome.results, output):
            _out.print(f"wrote {path}", highlight=False, markup=False, soft_wrap=True)


@app.command("emulate")
def emulate_command(
    file: Annotated[Path, typer.Argument(help="FILE.ptx, written by any compiler")],
    arguments: Annotated[
        list[str] | None,
        typer.Option(
            "--arg", "-a", help="For each parameter: a number, FILE.npy, f32[64,8] (random), zeros:f32[64]."
        ),
    ] = None,
    kernel: Annotated[str | None, typer.Option(help="Which kernel; by default the only one.")] = None,
    grid: Annotated[str, typer.Option(help="Blocks: 8, or 8,4,2.")] = "1",
    block: Annotated[str, typer.Option(help="Threads of a block: 128, or 16,16.")] = "128",
    smem: Annotated[int, typer.Option(min=0, help="Bytes of dynamic shared memory.")] = 0,
    chip: Annotated[str, typer.Option(help="Whose limits hold: sm_80; by default the file's target.")] = "",
    schedule: Annotated[
        str, typer.Option(help="The order of warps: together, round-robin, ahead, random.")
    ] = "together",
    seed: Annotated[int, typer.Option(help="Of random arguments and schedules.")] = 0,
    lines: Annotated[int, typer.Option(min=0, help="How many PTX lines are listed.")] = 10,
    output: Annotated[
        Path | None, typer.Option("-o", "--output", help="Folder for the arrays, as .npy.")
    ] = None,
    as_json: Annotated[bool, typer.Option("--json", help="Print everything as JSON.")] = False,
) -> None:
    """Run a kernel without a GPU: check it and count what it does. Fails if something is wrong with it."""
    from . import emulating

    launched = emulating.launch(
        file, arguments or [], kernel, grid, block, smem, chip=chip, schedule=schedule, seed=seed
    )
    if as_json:
        print(json.dumps(emulating.as_dict(launched.report), indent=2))
    else:
        print(emulating.summary(launched.report))
        if lines:
            print(emulating.hottest(launched.report, lines))
        for finding in launched.report.findings:
            _out.print(str(finding), highlight=False, markup=False, soft_wrap=True)
    if output is not None:
        for path in emulating.save(launched.arguments, output):
            _err.print(f"wrote {path}", highlight=False, markup=False, soft_wrap=True)
    if launched.report.findings:
        raise typer.Exit(1)


@app.command("profile")
def profile_command(
    source: Source,
    emulate: Annotated[
        bool, typer.Option("--emulate", help="On the PTX emulator: counters instead of times. Needs no GPU.")
    ] = False,
    size: Annotated[int, typer.Option(min=0, help="What a dynamic size is in random inputs.")] = 8,
    seed: Annotated[int, typer.Option(help="Of the random inputs of an .mlir file.")] = 0,
    func: Function = "main",
    target: Annotated[str, typer.Option(help="What to compile for.")] = "cuda:sm_80",
    as_json: Annotated[bool, typer.Option("--json", help="Print everything as JSON.")] = False,
) -> None:
    """Compile a program for a GPU, call it once, and count what each of its kernels does."""
    from . import emulating

    if not emulate:
        raise InputError(
            "mlopt profile works on the emulator only", remedy="pass --emulate, or use torch's profilers"
        )
    reports = emulating.profile(source, func, target, size, seed)
    if as_json:
        print(json.dumps([emulating.as_dict(report) for report in reports], indent=2))
    else:
        print(emulating.kernels_table(reports))


@app.command("cache")
def cache_command(
    clear: Annotated[bool, typer.Option("--clear", help="Remove all entries.")] = False,
    as_json: Annotated[bool, typer.Option("--json", help="Print everything as JSON.")] = False,
    rows: Annotated[int, typer.Option(min=0, help="How many entries are listed, the last used first.")] = 20,
) -> None:
    """Show what the compile cache on disk holds, or empty it."""
    from . import cache

    if clear:
        _out.print(f"removed {cache.clear()} entries", highlight=False)
        return
    found = cache.contents()
    if as_json:
        print(json.dumps(found.as_json(), indent=2))
        return
    total = f"{len(found.entries)} entries, {cache.megabytes(found.size)} of {found.limit >> 20} MB"
    _out.print(f"{found.folder}: {total}", highlight=False, markup=False, soft_wrap=True)
    table = Table("program", "key", "size", "made", "last used", box=None, pad_edge=False)
    for entry in found.entries[:rows]:
        made, used = cache.ago(entry.made), cache.ago(entry.used)
        table.add_row(entry.label, entry.key[:12], cache.megabytes(entry.size), made, used)
    if table.rows:
        _out.print(table, highlight=False, markup=False)


@app.command("doctor")
def doctor_command() -> None:
    """Say what mlopt needs, what is there, and what to do about the rest."""
    from .doctor import examine

    missing = 0
    for finding in examine():
        mark = "[green]ok[/]" if finding.fine else "[red]no[/]" if finding.needed else "[yellow]--[/]"
        _out.print(f"{mark}  {finding.subject:26}", end="")
        _out.print(finding.found, highlight=False, markup=False, soft_wrap=True)
        if not finding.fine:
            _out.print(f"      -> {finding.remedy}", highlight=False, markup=False, soft_wrap=True)
            missing += finding.needed
    if missing:
        _err.print(f"{missing} needed {'thing is' if missing == 1 else 'things are'} missing", style="red")
        raise typer.Exit(1)


def main() -> None:
    """Run the tool; what mlopt raises on purpose is printed without a traceback."""
    try:
        app()
    except MloptError as error:
        _err.print(f"mlopt: error: {error}", highlight=False, markup=False, soft_wrap=True)
        sys.exit(1)


if __name__ == "__main__":
    main()
