// Hinges h = max(d_Y - d_Z, 0) of two rows, with the distance d_Z of codes and d_Y of labels. table holds the columns of
// the codes, then 3 numbers for each factor: its column, its distance (0 absolute, 1 discrete, 2 circular) and its
// period, then for each column of z whether it is a column of the codes. Distances of factors are joined by their sum if
// add is 1, otherwise by the Euclidean norm.
// chosen has the layout of choose.comp. With pairs > 0, a known row a has the partners a+1 to a+pairs.
uint row(uint a) { return uint(chosen[1u + a]); }
float codesApart(uint i, uint j) {
  float sum = 0.0;
  for (uint c = 0u; c < points; c++) {
    uint column = uint(table[c]);
    float d = z[i * columns + column] - z[j * columns + column];
    sum += d * d;
  }
  return sqrt(sum);
}
float labelsApart(uint i, uint j) {
  float sum = 0.0;
  for (uint k = 0u; k < distances; k++) {
    uint at = points + 3u * k, column = uint(table[at]), kind = uint(table[at + 1u]);
    float a = labels[i * factors + column], b = labels[j * factors + column], period = table[at + 2u], d;
    if (kind == 1u) d = a == b ? 0.0 : 1.0;
    else if (kind == 0u) d = abs(a - b);
    else {
      d = abs((a - period * floor(a / period)) - (b - period * floor(b / period)));
      d = min(d, period - d);
    }
    sum += add != 0u ? d : d * d;
  }
  return add != 0u ? sum : sqrt(sum);
}
// whether row b is a partner of row a; 0 or 1
float partner(uint a, uint b, uint known) {
  if (pairs == 0u) return 1.0;
  uint step_ = (b + known - a) % known;
  return step_ >= 1u && step_ <= pairs ? 1.0 : 0.0;
}
