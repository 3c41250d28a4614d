#version 450
#extension GL_GOOGLE_include_directive : require
// The gradient of contraction: dz[i, c] = -dout[0] scale sum_b s_ab (z[i, c] - z[j, c])/d_Z for known rows a and b, i and
// j, and the columns c of the codes. s is the number of times that a and b are partners, times 2 h with square 1; with
// largest 1 it is 1 for the pair in state. It is 0 where h or d_Z is 0. Other elements of dz are 0.
#include "rows.glsl"
layout(set = 0, binding = 0) readonly buffer Z_ { float z[]; };
layout(set = 0, binding = 1) readonly buffer L_ { float labels[]; };
layout(set = 0, binding = 2) readonly buffer T_ { float table[]; };
layout(set = 0, binding = 3) readonly buffer C_ { float chosen[]; };
layout(set = 0, binding = 4) readonly buffer S_ { float state[]; };
layout(set = 0, binding = 5) readonly buffer G_ { float dout[]; };
layout(set = 0, binding = 6) writeonly buffer D_ { float dz[]; };
layout(push_constant) uniform P { uint n, columns, factors, points, distances, add, pairs, square, largest; };
#include "contraction.glsl"
float slopeOf(uint a, uint b, uint known) {
  float times;
  if (largest != 0u) {
    uint p = uint(state[1]), q = uint(state[2]);
    times = a == p && b == q || a == q && b == p ? 1.0 : 0.0;
  } else times = partner(a, b, known) + partner(b, a, known);
  if (times == 0.0) return 0.0;
  float d = codesApart(row(a), row(b)), h = labelsApart(row(a), row(b)) - d;
  if (!(h > 0.0 && d > 0.0)) return 0.0;
  return (square != 0u ? 2.0 * h * times : times) / d;
}
void main() {
  uint t = gl_LocalInvocationID.x, known = uint(chosen[0]);
  ROWS_EACH(i, n) for (uint from = 0u; from < columns; from += 64u) {
    uint c = from + t, end = chosen[1u + n + i] < 0.0 ? 0u : known, a = end > 0u ? uint(chosen[1u + n + i]) : 0u;
    bool mine = c < columns && table[points + 3u * distances + c] > 0.0;
    float sum = 0.0;
    for (uint lo = 0u; lo < end; lo += 64u) {
      barrier();
      lanes[t] = lo + t < known ? slopeOf(a, lo + t, known) : 0.0;
      barrier();
      if (mine) for (uint k = 0u; k < min(64u, known - lo); k++) {
        sum += lanes[k] * (z[i * columns + c] - z[row(lo + k) * columns + c]);
      }
    }
    if (c < columns) dz[i * columns + c] = -dout[0] * state[0] * sum;
  }
}
