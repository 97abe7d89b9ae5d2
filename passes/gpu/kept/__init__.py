"""Which reads of a task `mlopt-gpu-keep-rows` can serve from shared memory (`match`)."""
