"planet.orbit"() ({
  %m = "planet.moon"() {radius = 1737 : i32} : () -> !planet.body
  "planet.done"(%m) : (!planet.body) -> ()
}) : () -> ()
