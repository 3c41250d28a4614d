#version 450
// Adam's update of internal/kernel, with the numbers c of the step:
//   g' = c6 g, m = c0 m + c1 g', v = c2 v + c3 g'^2, w = w - c4 m/(sqrt(v) + c5)
// Decay first multiplies w by c7.
layout(local_size_x = 256) in;
layout(set = 0, binding = 0) buffer W_ { float w[]; };
layout(set = 0, binding = 1) buffer M_ { float m[]; };
layout(set = 0, binding = 2) buffer V_ { float v[]; };
layout(set = 0, binding = 3) readonly buffer G_ { float g[]; };
layout(set = 0, binding = 4) readonly buffer C_ { float c[]; };
layout(push_constant) uniform P { uint n, decay; };
void main() {
  for (uint i = gl_GlobalInvocationID.x; i < n; i += gl_NumWorkGroups.x * 256u) {
    float d = c[6] * g[i], x = w[i];
    if (decay != 0u) x *= c[7];
    float a = c[0] * m[i] + c[1] * d, b = c[2] * v[i] + c[3] * (d * d);
    m[i] = a;
    v[i] = b;
    w[i] = x - c[4] * a / (sqrt(b) + c[5]);
  }
}
