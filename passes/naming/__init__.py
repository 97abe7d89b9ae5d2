"""What `mlopt-raise-named` is made of: numbers followed back, patterns of them, and the ops that they are."""
