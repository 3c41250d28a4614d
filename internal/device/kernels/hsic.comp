#version 450
#extension GL_GOOGLE_include_directive : require
// By f, for known rows a and b of n:
//   0 sums[a, side] = sum_b of the similarities        1 state = their sums over a, by one group of threads
//   2 terms[a] = sum_b k~ l~/n^2 of the centred similarities k~ of x and l~ of y; 0 for other rows
//   3, 4 terms[a] = sum_b k_ab l~_ab/n^2 |x_a - x_b|^2, for 4 with x and y, and k and l, exchanged
#include "rows.glsl"
layout(set = 0, binding = 0) readonly buffer X_ { float x[]; };
layout(set = 0, binding = 1) readonly buffer Y_ { float y[]; };
layout(set = 0, binding = 2) readonly buffer C_ { float chosen[]; };
layout(set = 0, binding = 3) buffer S_ { float state[]; };
layout(set = 0, binding = 4) buffer R_ { float sums[]; };
layout(set = 0, binding = 5) buffer E_ { float terms[]; };
layout(push_constant) uniform P { uint n, xColumns, yColumns, equals, f; };
#include "hsic.glsl"
void main() {
  uint known = uint(chosen[0]), t = gl_LocalInvocationID.x;
  if (f == 1u) {
    for (uint side = 0u; side < 2u; side++) {
      float sum = 0.0;
      COLUMNS_EACH(a, known) sum += sums[2u * a + side];
      sum = total(sum);
      if (t == 0u) state[4u * side + 3u] = sum;
    }
    return;
  }
  ROWS_EACH(a, n) {
    float first = 0.0, second = 0.0;
    if (a < known) COLUMNS_EACH(b, known) {
      float dx = apart(0u, a, b), dy = apart(1u, a, b), k = similarity(0u, dx), l = similarity(1u, dy);
      switch (f) {
        case 0u: first += k; second += l; break;
        case 2u: first += centred(0u, a, b, known, k) * centred(1u, a, b, known, l); break;
        case 3u: first += k * centred(1u, a, b, known, l) * dx; break;
        case 4u: first += l * centred(0u, a, b, known, k) * dy; break;
      }
    }
    first = total(first);
    second = total(second);
    if (t == 0u && f > 0u) terms[a] = a < known ? first / float(known) / float(known) : 0.0;
    else if (t == 0u && a < known) {
      sums[2u * a] = first;
      sums[2u * a + 1u] = second;
    }
  }
}
