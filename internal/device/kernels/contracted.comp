#version 450
#extension GL_GOOGLE_include_directive : require
// From the terms of contraction.comp: y[0] = scale sum_a terms[a, 0], or max_a with the aggregate 1. scale is 1 for the
// aggregate 2, and otherwise 1/(known partners) of the known rows and the partners of each. Without two known rows it
// is 0. state = scale, and the first pair at the maximum. One group of threads computes all.
#include "rows.glsl"
layout(set = 0, binding = 0) readonly buffer C_ { float chosen[]; };
layout(set = 0, binding = 1) readonly buffer E_ { float terms[]; };
layout(set = 0, binding = 2) writeonly buffer S_ { float state[]; };
layout(set = 0, binding = 3) writeonly buffer Y_ { float y[]; };
layout(push_constant) uniform P { uint n, pairs, aggregate; };
void main() {
  uint known = uint(chosen[0]);
  float sum = 0.0, most = -1.0, at = float(n), scale = 0.0;
  COLUMNS_EACH(a, known) {
    float v = terms[2u * a];
    sum += v;
    if (v > most) {
      most = v;
      at = float(a);
    }
  }
  sum = total(sum);
  float greatest_ = greatest(most);
  at = -greatest(most == greatest_ ? -at : -float(n));
  if (gl_LocalInvocationID.x > 0u) return;
  if (known > 1u) {
    uint partners = pairs == 0u ? known : min(pairs, known - 1u);
    scale = aggregate == 0u || aggregate == 3u ? 1.0 / float(known) / float(partners) : 1.0;
    if (aggregate == 1u && !isnan(sum)) sum = greatest_;
  } else sum = 0.0;
  state[0] = scale;
  state[1] = at;
  state[2] = known > 1u ? terms[2u * uint(at) + 1u] : 0.0;
  y[0] = scale * sum;
}
