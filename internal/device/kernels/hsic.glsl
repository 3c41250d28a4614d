// Similarities of known rows a and b of the side of x (0) or y (1): e^(-|x_a - x_b|^2/(2 s^2)), or 1 for equal rows and 0
// for others if the side's bit of equals is 1. state has for each side the bandwidth s, the rows of the median, and the
// sum of all similarities; sums has the similarities' sums by row and side.
float apart(uint side, uint a, uint b) {
  float sum = 0.0;
  if (side == 0u) {
    for (uint c = 0u; c < xColumns; c++) {
      float d = x[a * xColumns + c] - x[b * xColumns + c];
      sum += d * d;
    }
  } else {
    for (uint c = 0u; c < yColumns; c++) {
      float d = y[a * yColumns + c] - y[b * yColumns + c];
      sum += d * d;
    }
  }
  return sum;
}
float similarity(uint side, float square) {
  if ((equals >> side & 1u) != 0u) return square == 0.0 ? 1.0 : 0.0;
  float s = state[4u * side];
  return exp(-square / s / s * 0.5);
}
// k_ab - k_a/n - k_b/n + k/n^2, with the means first
float centred(uint side, uint a, uint b, uint known, float similar) {
  float n = float(known);
  return (similar - sums[2u * a + side] / n) - (sums[2u * b + side] / n - state[4u * side + 3u] / n / n);
}
