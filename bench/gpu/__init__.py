"""Memory-bound kernels for GPUs: what the benchmark runs, and what their machine code must be like."""
