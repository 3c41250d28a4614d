#version 450
// Gradient descent with the numbers c of the step: rate c0, momentum c1, fresh c2, clip c3, decay c4 (0 where decay is
// 0). By f:
//   0 w = (1 - c0 c4) w - c0 c3 g
//   1 v = c1 v + c2 c3 g + c2 c4 w, w = w - c0 v
//   2 v as in 1, w = (1 - c0 c4) w - c0 c3 g - c0 c1 v       (Nesterov)
//   3 v = c1 v + r g, w = w - c0 v with r = c5 sqrt(s0/s1), or 1 where that is 0 or not finite       (LARS)
//   4 w = w - c8 r g with r as in 3 for c5 = 1                 5 w = w - c8 g                        (LAMB)
layout(local_size_x = 256) in;
layout(set = 0, binding = 0) buffer W_ { float w[]; };
layout(set = 0, binding = 1) buffer V_ { float v[]; };
layout(set = 0, binding = 2) readonly buffer G_ { float g[]; };
layout(set = 0, binding = 3) readonly buffer C_ { float c[]; };
layout(set = 0, binding = 4) readonly buffer S_ { float s[]; };
layout(push_constant) uniform P { uint n, f, decay; };
void main() {
  float d = decay != 0u ? c[4] : 0.0, r = 1.0;
  if ((f == 3u || f == 4u) && s[0] > 0.0 && s[1] > 0.0) r = (f == 3u ? c[5] : 1.0) * (sqrt(s[0]) / sqrt(s[1]));
  if (!(r > 0.0 && r < 3.0e38)) r = 1.0;
  for (uint i = gl_GlobalInvocationID.x; i < n; i += gl_NumWorkGroups.x * 256u) {
    float x = w[i], u = 0.0;
    if (f >= 1u && f <= 3u) {
      u = c[1] * v[i];
      u += f == 3u ? r * g[i] : (c[2] * c[3]) * g[i] + (c[2] * d) * x;
      v[i] = u;
    }
    if (f == 0u || f == 2u) x = (1.0 - c[0] * d) * x - (c[0] * c[3]) * g[i];
    if (f == 1u || f == 3u) x -= c[0] * u;
    if (f == 2u) x -= (c[0] * c[1]) * u;
    if (f >= 4u) x -= (c[8] * r) * g[i];
    w[i] = x;
  }
}
