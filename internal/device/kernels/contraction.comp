#version 450
#extension GL_GOOGLE_include_directive : require
// terms[a, 0] = sum_b h_ab, sum_b h_ab^2 (square 1), or max_b h_ab (largest 1) over the partners b of the known row a,
// and terms[a, 1] = the first partner at the maximum; 0 for a from the number of known rows on. See contraction.glsl.
#include "rows.glsl"
layout(set = 0, binding = 0) readonly buffer Z_ { float z[]; };
layout(set = 0, binding = 1) readonly buffer L_ { float labels[]; };
layout(set = 0, binding = 2) readonly buffer T_ { float table[]; };
layout(set = 0, binding = 3) readonly buffer C_ { float chosen[]; };
layout(set = 0, binding = 4) writeonly buffer E_ { float terms[]; };
layout(push_constant) uniform P { uint n, columns, factors, points, distances, add, pairs, square, largest; };
#include "contraction.glsl"
void main() {
  uint known = uint(chosen[0]);
  ROWS_EACH(a, n) {
    float sum = 0.0, most = -1.0, at = float(n);
    if (a < known) COLUMNS_EACH(k, known) {
      uint b = pairs == 0u ? k : (a + k) % known; // partners in their order
      if (partner(a, b, known) == 0.0) continue;
      uint i = row(a), j = row(b);
      float h = max(labelsApart(i, j) - codesApart(i, j), 0.0);
      if (isnan(codesApart(i, j) + labelsApart(i, j))) h = uintBitsToFloat(0x7fc00000u);
      sum += square != 0u ? h * h : h;
      if (h > most) {
        most = h;
        at = float(k);
      }
    }
    sum = total(sum);
    if (largest != 0u) {
      float greatest_ = greatest(most);
      at = -greatest(most == greatest_ ? -at : -float(n));
      sum = isnan(sum) ? sum : max(greatest_, 0.0);
    }
    if (gl_LocalInvocationID.x == 0u) {
      terms[2u * a] = sum;
      terms[2u * a + 1u] = pairs == 0u ? at : float((a + uint(at)) % max(known, 1u));
    }
  }
}
