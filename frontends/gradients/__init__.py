"""Decompositions of what training adds to a graph: backward ops, and random ops."""
