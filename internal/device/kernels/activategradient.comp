#version 450
#extension GL_GOOGLE_include_directive : require
// dx[i] = dy[i] f'(at[i]): at is the value y, or x for gelu and silu. dx may be dy.
layout(local_size_x = 256) in;
layout(set = 0, binding = 0) buffer A_ { float at[]; };
layout(set = 0, binding = 1) buffer G_ { float dy[]; };
layout(set = 0, binding = 2) buffer D_ { float dx[]; };
layout(push_constant) uniform P { uint n, f; };
#include "functions.glsl"
void main() {
  EACH(i, n) {
    float g = dy[i];
    dx[i] = (f == 1u || f == 5u) && !(at[i] > 0.0) ? (f == 1u ? 0.0 : 0.2 * g) : g * slope(f, at[i]);
  }
}
