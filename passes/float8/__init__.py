"""The conversions of 8-bit floats, which mlopt-fp8-storage writes."""
