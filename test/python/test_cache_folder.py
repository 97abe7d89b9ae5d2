"""The folder of the compile cache: whole entries or none, bounded, the user's own."""

import os
import signal
import subprocess
import sys
import textwrap
import time

import pytest
from mlopt.runtime.cache_folder import Folder, FolderRefused

KEYS = [f"{number:064x}" for number in range(40)]


@pytest.fixture
def folder(tmp_path):
    made = Folder(tmp_path / "cache", 1 << 20)
    made.open()
    return made


def file_of(folder, key):
    return folder.path / f"{key}.entry"


def processes(count, code, *args):
    """Run ``code`` in ``count`` processes at once; it finds ``args`` in sys.argv."""
    command = [sys.executable, "-c", textwrap.dedent(code), *map(str, args)]
    return [
        subprocess.Popen([*command, str(number)], stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
        for number in range(count)
    ]


def test_what_was_put_is_got(folder):
    assert folder.get(KEYS[0]) is None
    folder.put(KEYS[0], {"label": "a"}, b"content\n\0")
    header, content = folder.get(KEYS[0])
    assert content == b"content\n\0"
    assert header["label"] == "a"
    folder.put(KEYS[0], {}, b"newer")
    assert folder.get(KEYS[0])[1] == b"newer"
    assert folder.get(KEYS[1]) is None


def test_only_the_user_may_read(folder):
    folder.put(KEYS[0], {}, b"content")
    assert folder.path.stat().st_mode & 0o777 == 0o700
    assert [file.stat().st_mode & 0o777 for file in folder.path.iterdir()] == [0o600]


@pytest.mark.parametrize(
    "damage",
    [
        lambda data: b"",
        lambda data: data[:40],
        lambda data: data[:-1],
        lambda data: data + b"\0",
        lambda data: data[:-5] + bytes([data[-5] ^ 1]) + data[-4:],
        lambda data: data.replace(b"mlopt cache 1", b"mlopt cache 0"),
        lambda data: bytes(len(data)),
        lambda data: data[:20] + b"\xff" + data[21:],
    ],
)
def test_a_damaged_entry_is_a_miss_and_goes(folder, damage):
    folder.put(KEYS[0], {"label": "a"}, b"content" * 100)
    path = file_of(folder, KEYS[0])
    path.write_bytes(damage(path.read_bytes()))
    assert folder.get(KEYS[0]) is None
    assert not path.exists()


def test_an_entry_under_another_name_is_a_miss(folder):
    folder.put(KEYS[0], {}, b"content")
    file_of(folder, KEYS[0]).rename(file_of(folder, KEYS[1]))
    assert folder.get(KEYS[1]) is None


def test_a_file_that_others_may_write_is_a_miss(folder):
    folder.put(KEYS[0], {}, b"content")
    file_of(folder, KEYS[0]).chmod(0o666)
    assert folder.get(KEYS[0]) is None
    folder.put(KEYS[0], {}, b"content")
    assert folder.get(KEYS[0])[1] == b"content"


def test_a_file_of_another_user_is_a_miss(folder, monkeypatch):
    folder.put(KEYS[0], {}, b"content")
    monkeypatch.setattr(os, "geteuid", lambda: folder.path.stat().st_uid + 1)
    assert folder.get(KEYS[0]) is None


def test_a_link_or_a_pipe_is_a_miss(folder, tmp_path):
    folder.put(KEYS[0], {}, b"content")
    elsewhere = tmp_path / "elsewhere"
    file_of(folder, KEYS[0]).rename(elsewhere)
    file_of(folder, KEYS[0]).symlink_to(elsewhere)
    os.mkfifo(file_of(folder, KEYS[1]))
    assert folder.get(KEYS[0]) is None
    assert folder.get(KEYS[1]) is None


@pytest.mark.parametrize("mode", [0o770, 0o777, 0o1777])
def test_a_folder_that_others_may_write_is_refused(tmp_path, mode):
    path = tmp_path / "shared"
    path.mkdir()
    path.chmod(mode)
    with pytest.raises(FolderRefused, match=r"others may write to .*/shared"):
        Folder(path, 1 << 20).open()


def test_a_folder_of_another_user_is_refused(tmp_path, monkeypatch):
    monkeypatch.setattr(os, "geteuid", lambda: tmp_path.stat().st_uid + 1)
    with pytest.raises(FolderRefused, match=f"{tmp_path} belongs to the user number"):
        Folder(tmp_path, 1 << 20).open()


def test_a_folder_that_cannot_be_made_is_refused(tmp_path):
    (tmp_path / "file").write_text("")
    with pytest.raises(FolderRefused, match="file/cache cannot be made: Not a directory"):
        Folder(tmp_path / "file" / "cache", 1 << 20).open()


def test_what_was_not_used_for_longest_goes(folder):
    small = Folder(folder.path, 10_000)
    for number in range(9):
        small.put(KEYS[number], {}, bytes(900))
        os.utime(file_of(folder, KEYS[number]), (1000 + number, 1000 + number))
    assert small.get(KEYS[0]) is not None  # used just now
    small.put(KEYS[9], {}, bytes(900))
    kept = {entry.key for entry in small.entries()}
    assert kept == {KEYS[0], *KEYS[3:10]}
    assert sum(file.stat().st_size for file in folder.path.iterdir()) <= 10_000
    small.put(KEYS[10], {}, bytes(20_000))  # alone beyond the bound: not worth all others
    assert {entry.key for entry in small.entries()} == kept


def test_the_bound_holds_with_many_writers(folder):
    writers = processes(
        4,
        """
        import sys
        from pathlib import Path
        from mlopt.runtime.cache_folder import Folder
        folder, number = Folder(Path(sys.argv[1]), 50_000), int(sys.argv[2])
        for i in range(40):
            folder.put(f"{number * 100 + i:064x}", {}, bytes(3000))
            folder.get(f"{i:064x}")
        """,
        folder.path,
    )
    for writer in writers:
        _, errors = writer.communicate(timeout=300)
        assert writer.returncode == 0, errors
    sizes = [file.stat().st_size for file in folder.path.iterdir()]
    assert 20_000 < sum(sizes) <= 50_000


def test_a_writer_looks_again_after_a_share_of_the_bound(folder, monkeypatch):
    looked = []
    keep_bound = Folder._keep_bound
    monkeypatch.setattr(Folder, "_keep_bound", lambda self: looked.append(len(looks)) or keep_bound(self))
    writer, looks = Folder(folder.path, 640_000), []
    for number in range(30):
        writer.put(KEYS[number % 4], {}, bytes(900))
        looks.append(number)
    assert looked == [0, 10, 20]  # entries of 1,051 bytes, and 10,000 is the share


def test_writers_of_one_key_never_mix(folder):
    content = """
        import sys
        from pathlib import Path
        from mlopt.runtime.cache_folder import Folder
        folder, letter = Folder(Path(sys.argv[1]), 1 << 30), sys.argv[2].encode()
        for i in range(100):
            folder.put("0" * 64, {}, letter * (100_000 + i))
            found = folder.get("0" * 64)
            assert found is not None and len(set(found[1])) == 1
        """
    for writer in processes(3, content, folder.path):
        _, errors = writer.communicate(timeout=300)
        assert writer.returncode == 0, errors
    assert folder.get(KEYS[0]) is not None


def test_a_writer_that_is_killed_leaves_whole_entries(folder):
    (writer,) = processes(
        1,
        """
        import sys
        from pathlib import Path
        from mlopt.runtime.cache_folder import Folder
        folder = Folder(Path(sys.argv[1]), 1 << 30)
        print("ready", flush=True)
        while True:
            folder.put("0" * 64, {}, bytes(30_000_000))
        """,
        folder.path,
    )
    writer.stdout.readline()
    deadline = time.monotonic() + 30
    # In the middle of a write: a draft that is not yet whole.
    while not any(0 < file.stat().st_size < 30_000_000 for file in folder.path.glob("*.unfinished")):
        assert time.monotonic() < deadline
    writer.send_signal(signal.SIGKILL)
    writer.communicate()
    found = folder.get(KEYS[0])
    assert found is None or len(found[1]) == 30_000_000
    drafts = list(folder.path.glob("*.unfinished"))
    assert drafts
    folder.put(KEYS[1], {}, b"content")
    assert all(draft.exists() for draft in drafts)  # a slow writer may still be at it
    for draft in drafts:
        os.utime(draft, (1000, 1000))
    Folder(folder.path, folder.limit).put(KEYS[1], {}, b"content")
    assert not any(draft.exists() for draft in drafts)
    assert folder.get(KEYS[1])[1] == b"content"


def test_clear_takes_entries_and_nothing_else(folder):
    for key in KEYS[:3]:
        folder.put(key, {"label": key[-1]}, b"content")
    (folder.path / "notes.txt").write_text("mine")
    (folder.path / "1-ab.unfinished").write_text("")
    assert [folder.header(entry.key)["label"] for entry in folder.entries()]
    assert folder.clear() == 3
    assert [file.name for file in folder.path.iterdir()] == ["notes.txt"]
