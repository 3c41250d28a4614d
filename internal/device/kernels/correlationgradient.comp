#version 450
// The gradient of the correlation penalty by the half of z [2 n, d] that begins at own; the other half begins at other.
// dz = g (2 lambda/n^2 product + 2 (r_c - 1 - lambda r_c)/n z_other) with g = dout[0] and product the other half's Gram
// matrix times the own half.
layout(local_size_x = 256) in;
layout(set = 0, binding = 0) readonly buffer Z_ { float z[]; };
layout(set = 0, binding = 1) readonly buffer P_ { float product[]; };
layout(set = 0, binding = 2) readonly buffer R_ { float r[]; };
layout(set = 0, binding = 3) readonly buffer G_ { float dout[]; };
layout(set = 0, binding = 4) buffer D_ { float dz[]; };
layout(push_constant) uniform P { uint size, columns, own, other; float lambda, n; };
void main() {
  float g = dout[0];
  for (uint i = gl_GlobalInvocationID.x; i < size; i += gl_NumWorkGroups.x * 256u) {
    float c = r[i % columns], along = 2.0 * ((c - 1.0) - lambda * c) / n;
    dz[own + i] = g * (2.0 * lambda / n / n * product[i] + along * z[other + i]);
  }
}
