"""What `mlopt-fuse` is made of: the groups, what may fuse, what should."""
