#version 450
// dv[r, i] = dout[0]/rows slopes[i, i] e[r, i] for e = e^v [rows, d]: see dip.comp.
layout(local_size_x = 256) in;
layout(set = 0, binding = 0) readonly buffer E_ { float e[]; };
layout(set = 0, binding = 1) readonly buffer D_ { float slopes[]; };
layout(set = 0, binding = 2) readonly buffer G_ { float dout[]; };
layout(set = 0, binding = 3) writeonly buffer V_ { float dv[]; };
layout(push_constant) uniform P { uint n, d, rows; };
void main() {
  for (uint k = gl_GlobalInvocationID.x; k < n; k += gl_NumWorkGroups.x * 256u) {
    uint i = k % d;
    dv[k] = dout[0] / float(rows) * slopes[i * d + i] * e[k];
  }
}
