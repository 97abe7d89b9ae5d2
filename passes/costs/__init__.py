"""What kernels cost: bytes, FLOPs and special functions, and how long a machine takes for them."""
