#version 450
#extension GL_GOOGLE_include_directive : require
// y[i] = f(x[i]), an activation by number; 9 is exp, 10 the normal distribution function within 2^-24 and 1 - 2^-24.
// y may be x.
layout(local_size_x = 256) in;
layout(set = 0, binding = 0) buffer X_ { float x[]; };
layout(set = 0, binding = 1) buffer Y_ { float y[]; };
layout(push_constant) uniform P { uint n, f; };
#include "functions.glsl"
void main() {
  EACH(i, n) y[i] = activation(f, x[i]);
}
