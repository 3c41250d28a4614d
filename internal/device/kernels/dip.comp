#version 450
// For C = products/rows [d, d], plus the mean of e^v on the diagonal if sums has the sums of e^v over the rows (latent 1):
// terms = w (C - I)^2 and slopes = 2 w (C - I), with the weight w = diagonal on the diagonal and offDiagonal elsewhere.
layout(local_size_x = 256) in;
layout(set = 0, binding = 0) readonly buffer C_ { float products[]; };
layout(set = 0, binding = 1) readonly buffer S_ { float sums[]; };
layout(set = 0, binding = 2) writeonly buffer E_ { float terms[]; };
layout(set = 0, binding = 3) writeonly buffer D_ { float slopes[]; };
layout(push_constant) uniform P { uint d, rows, latent; float offDiagonal, diagonal; };
void main() {
  for (uint i = gl_GlobalInvocationID.x; i < d * d; i += gl_NumWorkGroups.x * 256u) {
    float c = products[i] / float(rows), w = offDiagonal;
    if (i / d == i % d) {
      if (latent != 0u) c += sums[i / d] / float(rows);
      c -= 1.0;
      w = diagonal;
    }
    terms[i] = w * c * c;
    slopes[i] = 2.0 * w * c;
  }
}
