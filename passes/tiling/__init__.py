"""How one kind of structured op becomes tile IR: the rules of `mlopt-tile`, one a file."""
