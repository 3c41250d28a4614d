// The squared distance of two rows of z in a block's columns.
float distance2(uint block, uint i, uint j) {
  uint from = uint(table[3u * block + 1u]), to = from + uint(table[3u * block + 2u]);
  float sum = 0.0;
  for (uint c = from; c < to; c++) {
    uint column = uint(table[c]);
    float d = z[i * columns + column] - z[j * columns + column];
    sum += d * d;
  }
  return sum;
}
