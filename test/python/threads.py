"""Several threads at once."""

import threading


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
