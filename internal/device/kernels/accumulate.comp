#version 450
#extension GL_GOOGLE_include_directive : require
// s[i] = c2 (c0 s[i] + c1 g[i]) with the numbers c of the step: a sum of gradients. It does not read s where c0 is 0.
layout(local_size_x = 256) in;
layout(set = 0, binding = 0) buffer S_ { float s[]; };
layout(set = 0, binding = 1) readonly buffer G_ { float g[]; };
layout(set = 0, binding = 2) readonly buffer C_ { float c[]; };
layout(push_constant) uniform P { uint n; };
#include "functions.glsl"
void main() {
  EACH(i, n) {
    float v = c[1] * g[i];
    if (c[0] != 0.0) v += c[0] * s[i];
    s[i] = c[2] * v;
  }
}
