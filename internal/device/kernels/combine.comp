#version 450
// z[i] by f: 0 a x[i] + b y[i], 1 a x[i] y[i], 2 a x[i] + b, 3 s[0] x[i] a with y for s.
// z may be x or y.
layout(local_size_x = 256) in;
layout(set = 0, binding = 0) buffer X_ { float x[]; };
layout(set = 0, binding = 1) buffer Y_ { float y[]; };
layout(set = 0, binding = 2) buffer Z_ { float z[]; };
layout(push_constant) uniform P { uint n, f; float a, b; };
void main() {
  for (uint i = gl_GlobalInvocationID.x; i < n; i += gl_NumWorkGroups.x * 256u) {
    float v = x[i];
    switch (f) {
      case 0: v = a * v + b * y[i]; break;
      case 1: v = a * (v * y[i]); break;
      case 2: v = a * v + b; break;
      default: v = a * (y[0] * v);
    }
    z[i] = v;
  }
}
