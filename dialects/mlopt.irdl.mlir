// The mlopt dialect. `mlir-opt --irdl-file=mlopt.irdl.mlir` reads this file too.
//
// Operations declared here have no effects that upstream passes know of, so they are
// leaves that a pass of ours rewrites away, and they live only between passes of ours.
// All else that mlopt says about IR is a discardable `mlopt.*` attribute on upstream
// operations: see attributes.py.
irdl.dialect @mlopt {
  // The same tile in another layout, its mlopt.layout: between mlopt-gpu-assign-layouts and
  // mlopt-gpu-distribute.
  irdl.operation @convert_layout {
    %tile = irdl.base "!builtin.vector"
    irdl.operands(source: %tile)
    irdl.results(result: %tile)
  }

  // Tiles in shared memory that take turns, between mlopt-gpu-pipeline-loads and mlopt-gpu-distribute: a
  // buffer with a slot for each, until it is released;
  irdl.operation @shared_ring {
    %ring = irdl.base "!builtin.memref"
    irdl.results(ring: %ring)
  }
  irdl.operation @release {
    %ring = irdl.base "!builtin.memref"
    irdl.operands(ring: %ring)
  }
  // a copy of a tile, as it is read, to a slot, if the loop's step at ``at`` comes before its ``end``;
  irdl.operation @async_copy {
    %tile = irdl.base "!builtin.vector"
    %ring = irdl.base "!builtin.memref"
    %index = irdl.is index
    irdl.operands(tile: %tile, ring: %ring, slot: %index, at: %index, end: %index)
  }
  // all copies begun since the last such op, as one of those that are waited for;
  irdl.operation @async_commit {
  }
  // a wait of all threads for all of them but the last ``pending``, with ``proxy`` so that warpgroups may
  // multiply what has come;
  irdl.operation @async_wait {
    %pending = irdl.base "#builtin.integer"
    irdl.attributes {"pending" = %pending}
  }
  // and the tile in a slot, in its mlopt.layout.
  irdl.operation @shared_tile {
    %tile = irdl.base "!builtin.vector"
    %ring = irdl.base "!builtin.memref"
    %index = irdl.is index
    irdl.operands(ring: %ring, slot: %index)
    irdl.results(tile: %tile)
  }

  // Products of warpgroups, between mlopt-gpu-warpgroup-loads and mlopt-gpu-distribute: of the tiles in two
  // slots, added to a tile of sums. ``left`` and ``right`` say which dims of a factor's tile are the result's
  // and the depth, and which of them runs along memory; ``result``, which dims are the rows and the columns;
  irdl.operation @warpgroup_mma {
    %tile = irdl.base "!builtin.vector"
    %rows = irdl.base "!builtin.memref"
    %columns = irdl.base "!builtin.memref"
    %index = irdl.is index
    %name = irdl.base "#builtin.string"
    %left = irdl.base "#builtin.dense_array"
    %right = irdl.base "#builtin.dense_array"
    %made = irdl.base "#builtin.dense_array"
    irdl.operands(left: %rows, left_slot: %index, right: %columns, right_slot: %index, sums: %tile)
    irdl.results(result: %tile)
    irdl.attributes {"instruction" = %name, "left" = %left, "right" = %right, "result" = %made}
  }
  // the same of rows that threads hold, as weights of attention;
  irdl.operation @warpgroup_mma_held {
    %tile = irdl.base "!builtin.vector"
    %rows = irdl.base "!builtin.vector"
    %columns = irdl.base "!builtin.memref"
    %index = irdl.is index
    %name = irdl.base "#builtin.string"
    %left = irdl.base "#builtin.dense_array"
    %right = irdl.base "#builtin.dense_array"
    %made = irdl.base "#builtin.dense_array"
    irdl.operands(left: %rows, right: %columns, right_slot: %index, sums: %tile)
    irdl.results(result: %tile)
    irdl.attributes {"instruction" = %name, "left" = %left, "right" = %right, "result" = %made}
  }
  // a wait for all of them but the last ``pending``, after which nobody else may have the result yet;
  irdl.operation @warpgroup_wait {
    %pending = irdl.base "#builtin.integer"
    irdl.attributes {"pending" = %pending}
  }
  // and a result, once it is there.
  irdl.operation @warpgroup_result {
    %tile = irdl.base "!builtin.vector"
    irdl.operands(tile: %tile)
    irdl.results(result: %tile)
  }

  // Copies by the engine for tensors (TMA), between mlopt-gpu-tma-loads and mlopt-gpu-distribute: an mbarrier for
  // each slot of some rings, at which as many arrive in a round as ``arrivals`` says of each result;
  irdl.operation @tma_barriers {
    %barriers = irdl.base "!builtin.memref"
    %arrivals = irdl.base "#builtin.dense_array"
    irdl.results(barriers: variadic %barriers)
    irdl.attributes {"arrivals" = %arrivals}
  }
  // an mlopt.async_copy that arrives at the slot's, asked for by one thread of the block, or by the one that is
  // there ``alone``; of ``both`` blocks of a cluster each copies half of it, to both;
  irdl.operation @tma_load {
    %tile = irdl.base "!builtin.vector"
    %ring = irdl.base "!builtin.memref"
    %barriers = irdl.base "!builtin.memref"
    %index = irdl.is index
    irdl.operands(tile: %tile, ring: %ring, slot: %index, at: %index, end: %index, barriers: %barriers)
  }
  // of a kernel's twin for what is unaligned, the end of a step's copies;
  irdl.operation @tma_commit {
  }
  // a wait of all threads for each other, behind which slots are written to again, of the twin as mlopt.async_wait;
  irdl.operation @tma_turn {
    %pending = irdl.base "#builtin.integer"
    %proxy = irdl.base "#builtin.integer"
    irdl.attributes {"pending" = %pending, "proxy" = %proxy}
  }
  // one for all that arrive at a slot in its even (0) or odd (1) rounds;
  irdl.operation @tma_wait {
    %barriers = irdl.base "!builtin.memref"
    %index = irdl.is index
    irdl.operands(barriers: %barriers, slot: %index, round: %index)
  }
  // an arrival of each warp, in all blocks of the cluster, which has read a slot, if the step at ``at`` comes before ``end``;
  irdl.operation @tma_free {
    %barriers = irdl.base "!builtin.memref"
    %index = irdl.is index
    irdl.operands(barriers: %barriers, slot: %index, at: %index, end: %index)
  }
  // whether a thread is of the warps that copy, the first one of them, and in the twin, which has no such warps;
  irdl.operation @warp_roles {
    %truth = irdl.is i1
    irdl.results(copies: %truth, first: %truth, twin: %truth)
  }
  // how many tasks a block of a persistent grid has, one after the other: between mlopt-gpu-persistent-grid and
  // mlopt-gpu-distribute. From an mlopt.task on the arguments of the scf.forall are the places of that one of them;
  irdl.operation @turns {
    %index = irdl.is index
    irdl.results(turns: %index)
  }
  irdl.operation @task {
    %index = irdl.is index
    irdl.operands(turn: %index)
  }
  // which of its warpgroups that take turns with a block's tiles (mlopt-gpu-ping-pong) a thread is of, and an
  // arrival of each warp in the slot of another one of them, which multiplies then;
  irdl.operation @consumer {
    %index = irdl.is index
    irdl.results(own: %index)
  }
  irdl.operation @pass_on {
    %barriers = irdl.base "!builtin.memref"
    %index = irdl.is index
    irdl.operands(barriers: %barriers, slot: %index)
  }
  // a wait of all threads of a cluster for each other, behind which no block accesses another one's memory;
  irdl.operation @pair_wait {
  }
  // the registers that each thread of a warpgroup has from here on, which are ``more`` (1) or fewer (0);
  irdl.operation @set_registers {
    %count = irdl.base "#builtin.integer"
    %more = irdl.base "#builtin.integer"
    irdl.attributes {"count" = %count, "more" = %more}
  }
  // and a tile in shared memory, in rows from which its vector.transfer_write is made by boxes: between
  // mlopt-gpu-tma-stores and mlopt-gpu-distribute. In a kernel's twin it is an mlopt.convert_layout. ``cut``, if it
  // is there, says along which dim it is stored in how many parts;
  irdl.operation @tma_tile {
    %tile = irdl.base "!builtin.vector"
    irdl.operands(source: %tile)
    irdl.results(result: %tile)
  }
  // a wait until what the block stores so has been read from shared memory, of a persistent grid.
  irdl.operation @tma_stored {
  }

  // Whether the block is the last one of its tile, of which ``parts`` blocks come: between mlopt-gpu-last-blocks
  // and mlopt-gpu-distribute. All threads of the block ask, once; ``tiles`` are the kernel's.
  irdl.operation @last_arrival {
    %index = irdl.is index
    %truth = irdl.is i1
    %parts = irdl.base "#builtin.integer"
    %tiles = irdl.base "#builtin.integer"
    irdl.operands(tile: %index)
    irdl.results(last: %truth)
    irdl.attributes {"parts" = %parts, "tiles" = %tiles}
  }

  // Where the host has a tensor map for such copies from a buffer at an address, and whether the driver has made
  // it: between mlopt-gpu-distribute and mlopt-gpu-launch. ``sizes`` are the buffer's, dynamic ones as operands;
  // ``box`` its part that a copy moves, whose rows have ``span`` bytes; f32 ``rounds`` to TF32 on the way.
  irdl.operation @tensor_map {
    %address = irdl.any
    %size = irdl.is i64
    %map = irdl.any
    %truth = irdl.is i1
    %shape = irdl.base "#builtin.dense_array"
    %box = irdl.base "#builtin.dense_array"
    %bytes = irdl.base "#builtin.integer"
    %span = irdl.base "#builtin.integer"
    irdl.operands(address: %address, size: variadic %size)
    irdl.results(map: %map, made: %truth)
    irdl.attributes {"sizes" = %shape, "box" = %box, "element_bytes" = %bytes, "span" = %span}
  }

  // softmax(scores) @ values, the keys summed: between mlopt-raise-attention and mlopt-tile. Maps, iterator
  // types and the init as a linalg.generic has them; passes/raise_attention.py says what the others are.
  irdl.operation @attention {
    %scores = irdl.base "!builtin.tensor"
    %values = irdl.base "!builtin.tensor"
    %made = irdl.base "!builtin.tensor"
    %maps = irdl.base "#builtin.array"
    %kinds = irdl.base "#builtin.array"
    %bool = irdl.base "#builtin.integer"
    %nans = irdl.base "#builtin.integer"
    %loop = irdl.base "#builtin.integer"
    irdl.operands(scores: %scores, values: %values, init: %made)
    irdl.results(result: %made)
    irdl.attributes {
      "indexing_maps" = %maps,
      "iterator_types" = %kinds,
      "zero_rows" = %bool,
      "zero_nans" = %nans,
      "causal" = %loop
    }
  }

  // Running totals along the one loop that is reduced, each with its own element: between the import and mlopt-tile.
  // Maps, iterator types and the init, of which nothing is read, as a linalg.generic has them; ``kind`` is "add",
  // "mul", "maximumf" or another one that vector.scan has, or "logaddexp".
  irdl.operation @scan {
    %source = irdl.base "!builtin.tensor"
    %made = irdl.base "!builtin.tensor"
    %maps = irdl.base "#builtin.array"
    %kinds = irdl.base "#builtin.array"
    %name = irdl.base "#builtin.string"
    irdl.operands(source: %source, init: %made)
    irdl.results(result: %made)
    irdl.attributes {"indexing_maps" = %maps, "iterator_types" = %kinds, "kind" = %name}
  }
}
