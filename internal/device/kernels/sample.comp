#version 450
// gradient 0: z[i] = x[i] + e^l[i] noise[i], a sample of N(x, e^2l); gradient 1: z[i] = x[i] e^l[i] noise[i], the
// gradient of l for the gradient x of the sample.
layout(local_size_x = 256) in;
layout(set = 0, binding = 0) readonly buffer X_ { float x[]; };
layout(set = 0, binding = 1) readonly buffer L_ { float l[]; };
layout(set = 0, binding = 2) readonly buffer N_ { float noise[]; };
layout(set = 0, binding = 3) writeonly buffer Z_ { float z[]; };
layout(push_constant) uniform P { uint n, gradient; };
void main() {
  for (uint i = gl_GlobalInvocationID.x; i < n; i += gl_NumWorkGroups.x * 256u) {
    float s = exp(l[i]);
    z[i] = gradient == 0u ? x[i] + s * noise[i] : x[i] * s * noise[i];
  }
}
