"""What `mlopt-raise-attention` is made of: what attention looks like, the shapes of its rows, the rewrite."""
