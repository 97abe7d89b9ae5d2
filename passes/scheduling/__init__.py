"""How `mlopt-schedule` chooses tile sizes, by target."""
