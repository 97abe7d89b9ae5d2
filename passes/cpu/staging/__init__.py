"""How `mlopt-cpu-stage-tiles` gives tiles memory: which (`choice`), what (`memory`), how (`block`)."""
