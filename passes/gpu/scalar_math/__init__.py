"""Mathematical functions on one thread's f32 scalars, by a GPU's approximate instructions and FMA."""
