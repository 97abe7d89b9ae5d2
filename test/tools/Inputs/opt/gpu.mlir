module attributes {gpu.container_module} {
  gpu.module @kernels {
    gpu.func @scale(%m: memref<64xf32>, %f: f32) kernel {
      %i = gpu.thread_id x
      %x = memref.load %m[%i] : memref<64xf32>
      %y = arith.mulf %x, %f : f32
      memref.store %y, %m[%i] : memref<64xf32>
      gpu.return
    }
  }
  func.func @launch(%m: memref<64xf32>, %f: f32) {
    %one = arith.constant 1 : index
    %n = arith.constant 64 : index
    gpu.launch_func @kernels::@scale blocks in (%one, %one, %one) threads in (%n, %one, %one)
        args(%m : memref<64xf32>, %f : f32)
    return
  }
}
