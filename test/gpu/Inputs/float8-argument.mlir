func.func private @argument(%x: vector<64xf8E5M2>) -> vector<64xf32> {
  %f = arith.extf %x : vector<64xf8E5M2> to vector<64xf32>
  return %f : vector<64xf32>
}
