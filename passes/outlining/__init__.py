"""What `mlopt-outline` is made of: groups, kernels, the host function."""
