#version 450
#extension GL_GOOGLE_include_directive : require
// The gradient of HSIC by the side's array of width columns. With its points p, w_ab = k_ab l~_ab/n^2 and the bandwidth s:
//   d[i, c] = -2 dout[0]/s^2 sum_b w_ab (p_a - p_b) for the known rows a, plus dout[0]/s^4 along[0] (p_a - p_b) for the two
//   rows a and b of the median. places lists for each column its place in the points plus 1, or 0. Other elements are 0.
#include "rows.glsl"
layout(set = 0, binding = 0) readonly buffer X_ { float x[]; };
layout(set = 0, binding = 1) readonly buffer Y_ { float y[]; };
layout(set = 0, binding = 2) readonly buffer C_ { float chosen[]; };
layout(set = 0, binding = 3) readonly buffer S_ { float state[]; };
layout(set = 0, binding = 4) readonly buffer R_ { float sums[]; };
layout(set = 0, binding = 5) readonly buffer T_ { float places[]; };
layout(set = 0, binding = 6) readonly buffer A_ { float along[]; };
layout(set = 0, binding = 7) readonly buffer G_ { float dout[]; };
layout(set = 0, binding = 8) writeonly buffer D_ { float d[]; };
layout(push_constant) uniform P { uint n, xColumns, yColumns, equals, side, width; };
#include "hsic.glsl"
float point(uint a, uint c) { return side == 0u ? x[a * xColumns + c] : y[a * yColumns + c]; }
void main() {
  uint t = gl_LocalInvocationID.x, known = uint(chosen[0]), other = 1u - side;
  float s = state[4u * side];
  ROWS_EACH(i, n) for (uint from = 0u; from < width; from += 64u) {
    uint c = from + t, end = chosen[1u + n + i] < 0.0 ? 0u : known, a = end > 0u ? uint(chosen[1u + n + i]) : 0u;
    uint place = c < width ? uint(places[c]) : 0u, p = uint(state[4u * side + 1u]), q = uint(state[4u * side + 2u]);
    float sum = 0.0;
    for (uint lo = 0u; lo < end; lo += 64u) {
      uint b = lo + t;
      barrier();
      if (b < known) {
        float k = similarity(side, apart(side, a, b)), l = similarity(other, apart(other, a, b));
        lanes[t] = k * centred(other, a, b, known, l) / float(known) / float(known);
      }
      barrier();
      if (place > 0u) for (uint k = 0u; k < min(64u, known - lo); k++) {
        sum += lanes[k] * (point(a, place - 1u) - point(lo + k, place - 1u));
      }
    }
    sum *= -2.0;
    if (place > 0u && end > 0u && p != q && (a == p || a == q)) {
      sum += along[0] / s / s * (point(a, place - 1u) - point(a == p ? q : p, place - 1u));
    }
    if (c < width) d[i * width + c] = dout[0] / s / s * sum;
  }
}
