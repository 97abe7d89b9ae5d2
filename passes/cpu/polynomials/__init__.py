"""Mathematical functions on f32 lanes as polynomials: one rule an op, in a registry."""
