"""The bindings import a module of a dialect's name for the classes of its ops, when they meet the first one.

Ours have none. Without this file the bindings would look for it again at each op: 50 microseconds.
"""
