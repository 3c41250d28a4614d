// Mixtures of normal distributions for a minibatch estimate of total correlation. Part 0 has the columns of all blocks,
// and part p has the columns of block p. table holds for each part the place and number of its columns, the columns, and for each
// column of z its block's part, or 0. With masked 1, a column of a row counts only where mask > 1/2.
bool on(uint row, uint c) { return masked == 0u || mask[row * d + c] > 0.5; }
// log N(z_j; mean_i, e^logVariance_i), summed over the columns of a part that are on for row j
float density(uint part, uint j, uint i) {
  uint from = uint(table[2u * part]), to = from + uint(table[2u * part + 1u]);
  float sum = 0.0;
  for (uint k = from; k < to; k++) {
    uint c = uint(table[k]);
    if (!on(j, c)) continue;
    float apart = z[j * d + c] - mean[i * d + c];
    sum -= 0.5 * (1.837877066 + logVariance[i * d + c] + apart * apart * precision_[i * d + c]);
  }
  return sum;
}
// whether the distribution of row i belongs to the mixture of row j: for part 0 both have the same columns
bool member(uint part, uint j, uint i) {
  if (masked == 0u) return true;
  if (part > 0u) return on(i, uint(table[uint(table[2u * part])]));
  for (uint c = 0u; c < d; c++) if (on(j, c) != on(i, c)) return false;
  return true;
}
