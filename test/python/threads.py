"""Several threads at once, and any number of torch's."""

import threading

import torch


def at_once(work, *arguments):
    """Call ``work`` with each tuple of arguments, in a thread of its own; what one raises is raised here."""
    raised = []

    def run(*args):
        try:
            work(*args)
        except BaseException as error:
            raised.append(error)

    threads = [threading.Thread(target=run, args=args) for args in arguments]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    if raised:
        raise raised[0]


def on_any_number(call, counts=(1, 2, 5, 2)):
    """What ``call`` returns, with the same bits on so many of torch's threads and again."""
    before, made = torch.get_num_threads(), []
    try:
        for count in counts:
            torch.set_num_threads(count)
            made.append(call())
    finally:
        torch.set_num_threads(before)
    for other in made[1:]:
        torch.testing.assert_close(other, made[0], rtol=0, atol=0, equal_nan=True)
    return made[0]
