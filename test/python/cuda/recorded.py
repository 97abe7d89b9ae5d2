"""The emulator with CUDA graphs: launches are noted with their arguments, and made again."""

import ctypes
import threading

from mlopt.runtime import opening
from mlopt.runtime.cuda import emulated
from mlopt.runtime.cuda.graphs import Replays


class RecordingMachine(emulated.EmulatedMachine):
    """An emulator that is a `Recorder` too; ``replayed`` counts. Each thread notes its own launches."""

    def __init__(self, chip):
        super().__init__(chip)
        self.replayed = 0
        self._mine = _Noted()

    def capture(self, launch):
        self._mine.launches = []
        try:
            status = launch()
        finally:
            noted, self._mine.launches = self._mine.launches, None
        entry, array = self._mine.placed_last

        def replay():
            with self._lock, self._placed(entry, ctypes.addressof(array)):
                self.replayed += 1
                for function, rest, _ in noted:
                    super(RecordingMachine, self)._launch(function, *rest)
            error = self.take_error()
            if error is not None:
                raise error

        return status, replay

    def current(self):
        return 0

    def wait_for(self, stream):
        raise AssertionError("there is one stream")

    def attach(self, entry, run):
        call = super().attach(entry, run)

        def noted(address):
            array = (ctypes.c_int64 * entry.length).from_address(address)
            self._mine.placed_last = entry, type(array)(*array)
            return call(address)

        return noted

    def _launch(self, function, *rest):
        if self._mine.launches is None:
            super()._launch(function, *rest)
            return
        parameters = self._kernels.loaded.function(self._names[function - 1]).params
        places = (ctypes.c_int64 * len(parameters)).from_address(rest[8])
        values = [
            ctypes.create_string_buffer(ctypes.string_at(place, each.size), each.size)
            for each, place in zip(parameters, places, strict=True)
        ]
        copied = type(places)(*map(ctypes.addressof, values))
        self._mine.launches.append(
            (function, (*rest[:8], ctypes.addressof(copied), *rest[9:]), (copied, values))
        )


class _Noted(threading.local):
    """What a thread has launched since it captures, and with which arguments it called last."""

    launches = None
    placed_last = None


def on_emulators(monkeypatch):
    """Let ``cuda_graph=True`` capture on the emulator, too; the list gets the machines of such programs."""
    machines, open_executable = [], opening.open_executable
    monkeypatch.setattr(emulated, "EmulatedMachine", RecordingMachine)

    def opened(built, options, label="main", gpu=None):
        executable = open_executable(built, options, label, gpu)
        if gpu is None and options.cuda_graph:
            machine = executable.program.machine
            executable.main.replays = Replays(executable.main, machine)
            machines.append(machine)
        return executable

    monkeypatch.setattr(opening, "open_executable", opened)
    return machines
