#version 450
#extension GL_GOOGLE_include_directive : require
// The gradient of modularity: dz[i, c] = dout[0] sum over the blocks with column c of w sum_j a_ij (z[i, c] - z[j, c]),
// with w the weight of row i's group in values, and a_ij for the rows j of the group by deviation:
//   0 2/size^2     1 1/d_ij for the group's farthest pair, 0 at distance 0     2 1/(size^2 d_ij), 0 at distance 0
// members, table and values have the layout of deviation.comp. From inside on, table says for each block and column whether
// the block has the column. A group of threads computes a row.
#include "rows.glsl"
layout(set = 0, binding = 0) readonly buffer Z_ { float z[]; };
layout(set = 0, binding = 1) readonly buffer T_ { float table[]; };
layout(set = 0, binding = 2) readonly buffer M_ { float members[]; };
layout(set = 0, binding = 3) readonly buffer V_ { float values[]; };
layout(set = 0, binding = 4) readonly buffer G_ { float dout[]; };
layout(set = 0, binding = 5) writeonly buffer D_ { float dz[]; };
layout(push_constant) uniform P { uint n, blocks, columns, deviation, inside; };
#include "deviation.glsl"
float slopeOf(uint block, uint i, uint j, uint group, float size) {
  if (deviation == 0u) return 2.0 / (size * size);
  float d = sqrt(distance2(block, i, j));
  if (d == 0.0) return 0.0;
  if (deviation == 2u) return 1.0 / (size * size * d);
  uint p = uint(values[4u * group + 1u]), q = uint(values[4u * group + 2u]);
  return i == p && j == q || i == q && j == p ? 1.0 / d : 0.0;
}
void main() {
  uint t = gl_LocalInvocationID.x;
  ROWS_EACH(i, n) for (uint from = 0u; from < columns; from += 64u) {
    uint c = from + t;
    float sum = 0.0;
    for (uint block = 0u; block < blocks; block++) {
      float first = members[2u * (block * n + i)], size = members[2u * (block * n + i) + 1u];
      if (first < 0.0) continue;
      uint group = block * n + uint(first);
      float weight = values[4u * group + 3u], part = 0.0;
      if (weight == 0.0) continue;
      bool mine = c < columns && table[inside + block * columns + c] > 0.0;
      for (uint lo = 0u; lo < n; lo += 64u) {
        uint j = lo + t;
        barrier();
        lanes[t] = j < n && members[2u * (block * n + j)] == first ? slopeOf(block, i, j, group, size) : 0.0;
        barrier();
        if (mine) for (uint k = 0u; k < min(64u, n - lo); k++) part += lanes[k] * (z[i * columns + c] - z[(lo + k) * columns + c]);
      }
      sum += weight * part;
    }
    if (c < columns) dz[i * columns + c] = dout[0] * sum;
  }
}
