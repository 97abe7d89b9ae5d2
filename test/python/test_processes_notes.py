"""What a worker notes of its work, and the reproducers that are made of it."""

import os
from pathlib import Path
from types import SimpleNamespace

import pytest
from mlopt.errors import CompileError
from mlopt.runtime import progress, reproducer
from mlopt.test.python.process_helpers import TARGET, private

pytestmark = pytest.mark.usefixtures("worker_environment")


@pytest.fixture
def notes():
    file = os.memfd_create("test")
    yield file
    os.close(file)


def test_progress_keeps_the_last_snapshot_and_what_came_after(notes, monkeypatch):
    recorder = progress.Recorder(notes)
    assert progress.read(notes) == progress.Progress()
    recorder.enter("a", lambda: "ir 1")
    recorder.running("a1")
    assert progress.read(notes) == ("ir 1", ("a",), "a1")
    recorder.enter("b", lambda: "ir 2")
    assert progress.read(notes) == ("ir 2", ("b",), "b")
    monkeypatch.setattr(progress, "FREE_SECONDS", -10.0)
    recorder.enter("c", lambda: "too dear to print")
    assert progress.read(notes) == ("ir 2", ("b", "c"), "c")
    recorder.phase("code generation")
    assert progress.read(notes) == (None, (), "code generation")
    recorder.reset()
    assert progress.read(notes) == progress.Progress()


def test_a_snapshot_waits_until_one_as_dear_as_the_last_is_within_the_share(notes, monkeypatch):
    seconds = [0.0]

    def printed(text):
        seconds[0] += 0.01
        return text

    monkeypatch.setattr(progress, "time", SimpleNamespace(process_time=lambda: seconds[0]))
    recorder = progress.Recorder(notes)
    recorder.enter("a", lambda: printed("ir 1"))
    seconds[0] = 0.7  # two of them cost 20 ms, of 19 that are granted
    recorder.enter("b", lambda: printed("ir 2"))
    assert progress.read(notes) == ("ir 1", ("a", "b"), "b")
    seconds[0] = 1.0
    recorder.enter("c", lambda: printed("ir 3"))
    assert progress.read(notes) == ("ir 3", ("c",), "c")


def test_progress_torn_by_death_is_read_as_far_as_it_goes(notes):
    recorder = progress.Recorder(notes)
    recorder.enter("a", lambda: "ir")
    recorder.running("b" * 100)
    for size in range(os.fstat(notes).st_size, -1, -1):
        os.ftruncate(notes, size)
        assert progress.read(notes) in [
            ("ir", ("a",), "b" * 100),
            ("ir", ("a",), "a"),
            ("ir", (), ""),
            (None, (), ""),
        ]


def test_progress_outside_of_a_worker_is_nothing():
    progress.enter("a", lambda: pytest.fail("printed"))
    progress.running("b")
    progress.phase("c")


@pytest.mark.parametrize(
    "wanted",
    [
        reproducer.Reproducer("module {}", pipeline="builtin.module(cse,func.func(a{b=1 c=2,3}))"),
        reproducer.Reproducer("", call="m.n:f", argument="text", others={"a": (1, "x\ny"), "b": {"c": None}}),
    ],
)
def test_reproducer_reads_back(wanted):
    path, command = reproducer.write(wanted, "what\nwhere")
    text = Path(path).read_text()
    found = reproducer.parse(text)
    assert found._replace(ir=wanted.ir) == wanted
    assert "// what\n// where\n" in text
    assert wanted.ir in found.ir
    assert path in command
    assert private(Path(path).parent)


def test_reproducer_says_what_is_wrong_with_a_file():
    with pytest.raises(ValueError, match="not a reproducer"):
        reproducer.parse("module {}")
    with pytest.raises(ValueError, match="cannot read the reproducer's header"):
        reproducer.parse(reproducer.MARK + "something")
    with pytest.raises(ValueError, match="cannot be written down"):
        reproducer.parse(reproducer.MARK + "call=a:b argument=c others={'x': <object>}")


def test_reproducers_do_not_pile_up(monkeypatch):
    monkeypatch.setattr(reproducer, "KEPT_FILES", 3)
    for _ in range(5):
        path, _ = reproducer.write(reproducer.Reproducer("module {}", pipeline="builtin.module()"), "")
    assert len(list(Path(path).parent.glob("*.mlir"))) == 3


def test_failure_is_reported_even_if_no_reproducer_can_be_written(pool, monkeypatch):
    monkeypatch.setattr(reproducer, "private_folder", lambda: Path("/proc/no/such/folder"))
    with pytest.raises(CompileError, match="a builtin") as raised:
        pool.call("compile", TARGET + "raise_builtin", text="it", reproducer="text")
    assert raised.value.reproducer == ""
