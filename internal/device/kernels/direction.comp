#version 450
#extension GL_GOOGLE_include_directive : require
// LAMB's step before it is scaled, with the numbers c of an Adam step of rate 1, and decay c7 (0 where decay is 0):
//   g' = c6 g, m = c0 m + c1 g', v = c2 v + c3 g'^2, u = c4 m/(sqrt(v) + c5) + c7 w
layout(local_size_x = 256) in;
layout(set = 0, binding = 0) readonly buffer W_ { float w[]; };
layout(set = 0, binding = 1) buffer M_ { float m[]; };
layout(set = 0, binding = 2) buffer V_ { float v[]; };
layout(set = 0, binding = 3) readonly buffer G_ { float g[]; };
layout(set = 0, binding = 4) readonly buffer C_ { float c[]; };
layout(set = 0, binding = 5) writeonly buffer U_ { float u[]; };
layout(push_constant) uniform P { uint n, decay; };
#include "functions.glsl"
void main() {
  EACH(i, n) {
    float d = c[6] * g[i], a = c[0] * m[i] + c[1] * d, b = c[2] * v[i] + c[3] * (d * d);
    m[i] = a;
    v[i] = b;
    a = c[4] * a / (sqrt(b) + c[5]);
    u[i] = decay != 0u ? a + c[7] * w[i] : a;
  }
}
