#version 450
#extension GL_GOOGLE_include_directive : require
// Gradients of the mean over rows of the terms of mixture.comp. With the share r_ji of distribution i in the mixture of
// row j, in part 0 less in the column's part, u = z[j, c] - mean[i, c] and h = e^-logVariance[i, c], by f:
//   0 dz[j, c] = -dout/n sum_i r_ji h u      1 dmean[i, c] = dout/n sum_j r_ji h u
//   2 dlogVariance[i, c] = dout/(2 n) sum_j r_ji (h u^2 - 1)
// A group of threads computes a row of the gradient.
#include "rows.glsl"
layout(set = 0, binding = 0) readonly buffer Z_ { float z[]; };
layout(set = 0, binding = 1) readonly buffer M_ { float mean[]; };
layout(set = 0, binding = 2) readonly buffer V_ { float logVariance[]; };
layout(set = 0, binding = 3) readonly buffer P_ { float precision_[]; };
layout(set = 0, binding = 4) readonly buffer K_ { float mask[]; };
layout(set = 0, binding = 5) readonly buffer T_ { float table[]; };
layout(set = 0, binding = 6) readonly buffer S_ { float state[]; };
layout(set = 0, binding = 7) readonly buffer G_ { float dout[]; };
layout(set = 0, binding = 8) writeonly buffer D_ { float dx[]; };
layout(push_constant) uniform P { uint n, d, parts, masked, places, f; };
#include "mixture.glsl"
float share(uint part, uint j, uint i) {
  uint k = 4u * (part * n + j);
  float row = state[k + 3u];
  if (row < -1.0 || !member(part, j, i)) return 0.0;
  return exp(density(part, j, i) + (i == j ? state[k + 1u] : float(i) == row ? state[k + 2u] : 0.0) - state[k]);
}
void main() {
  uint t = gl_LocalInvocationID.x;
  ROWS_EACH(row, n) for (uint from = 0u; from < d; from += 64u) {
    uint c = from + t, part = c < d ? uint(table[places + c]) : 0u;
    float sum = 0.0;
    for (uint lo = 0u; lo < n; lo += 64u) {
      uint other = lo + t;
      barrier();
      if (other < n) lanes[t] = f == 0u ? share(0u, row, other) : share(0u, other, row);
      barrier();
      if (part > 0u) for (uint k = 0u; k < min(64u, n - lo); k++) {
        uint j = f == 0u ? row : lo + k, i = f == 0u ? lo + k : row;
        if (!on(j, c)) continue;
        float r = lanes[k] - share(part, j, i), u = z[j * d + c] - mean[i * d + c], h = precision_[i * d + c];
        sum += r * (f == 2u ? 0.5 * (h * u * u - 1.0) : f == 1u ? h * u : -h * u);
      }
    }
    if (c < d) dx[row * d + c] = dout[0] / float(n) * sum;
  }
}
