"""What `mlopt-collapse-dims` asks of a kernel before it merges dims."""
