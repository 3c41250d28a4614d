#version 450
#extension GL_GOOGLE_include_directive : require
// Deviations of groups of rows of z [n, columns], from distances d of the block's columns. With f 0, by row i:
//   terms[block, i, 0] = sum_j d_ij^2 (deviation 0, variance), max_j d_ij (1, diameter), or sum_j d_ij (2, mpd) over the
//   rows j of its group, and terms[block, i, 1] = the first row j at the maximum.
// With f 1, for the first row of each group:
//   values[block, i] = c/(2 size^2) sum_j terms[block, j, 0] or c max_j terms[block, j, 0], then the first pair of rows
//   at the maximum, and a place for the weight. c is 1, or size/(size - 1) if unbiased is 1.
// members and table have the layout of groups.comp.
#include "rows.glsl"
layout(set = 0, binding = 0) readonly buffer Z_ { float z[]; };
layout(set = 0, binding = 1) readonly buffer T_ { float table[]; };
layout(set = 0, binding = 2) readonly buffer M_ { float members[]; };
layout(set = 0, binding = 3) buffer E_ { float terms[]; };
layout(set = 0, binding = 4) buffer V_ { float values[]; };
layout(push_constant) uniform P { uint n, blocks, columns, deviation, unbiased, f; };
#include "deviation.glsl"
float termOf(uint block, uint i, uint j) { return f == 0u ? distance2(block, i, j) : terms[2u * (block * n + j)]; }
void main() {
  ROWS_EACH(k, n * blocks) {
    uint block = k / n, i = k % n;
    float first = members[2u * k], size = members[2u * k + 1u], sum = 0.0, most = -1.0, at = 0.0;
    if (first < 0.0 || f == 1u && first != float(i)) continue;
    COLUMNS_EACH(j, n) if (members[2u * (block * n + j)] == first) {
      float v = termOf(block, i, j);
      if (f == 0u && deviation != 0u) v = sqrt(v);
      sum += v;
      if (v > most) {
        most = v;
        at = float(j);
      }
    }
    sum = total(sum);
    if (deviation == 1u) {
      float greatest_ = greatest(most);
      at = -greatest(most == greatest_ ? -at : -float(n));
      sum = isnan(sum) ? sum : greatest_;
    }
    if (gl_LocalInvocationID.x == 0u && f == 0u) {
      terms[2u * k] = sum;
      terms[2u * k + 1u] = at;
    } else if (gl_LocalInvocationID.x == 0u) {
      if (deviation != 1u) sum /= 2.0 * size * size;
      if (unbiased != 0u && size > 1.0) sum *= size / (size - 1.0);
      values[4u * k] = sum;
      values[4u * k + 1u] = at;
      values[4u * k + 2u] = deviation == 1u ? terms[2u * (block * n + uint(at)) + 1u] : 0.0;
    }
  }
}
