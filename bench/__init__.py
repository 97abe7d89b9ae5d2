"""mlopt beside its peers on the CPU: ``make bench``, or ``python -m mlopt.bench --help``.

Workloads are one table (`workloads`), peers one file each (`peers/`). Each peer runs in a process of its own
(`child`), turn by turn with the others and with what the machine can do at most (`ceilings`).
"""
