#version 450
// z[i] = |x[i] - y[i]|, or for f 1 and 2 its gradients by x and y: dy[i] or -dy[i] where x > y, the opposite where
// x < y, 0 where x = y.
layout(local_size_x = 256) in;
layout(set = 0, binding = 0) readonly buffer X_ { float x[]; };
layout(set = 0, binding = 1) readonly buffer Y_ { float y[]; };
layout(set = 0, binding = 2) readonly buffer G_ { float dy[]; };
layout(set = 0, binding = 3) writeonly buffer Z_ { float z[]; };
layout(push_constant) uniform P { uint n, f; };
void main() {
  for (uint i = gl_GlobalInvocationID.x; i < n; i += gl_NumWorkGroups.x * 256u) {
    float v = x[i] - y[i];
    if (f == 0u) z[i] = abs(v);
    else {
      float g = f == 1u ? dy[i] : -dy[i];
      z[i] = x[i] > y[i] ? g : x[i] < y[i] ? -g : 0.0;
    }
  }
}
