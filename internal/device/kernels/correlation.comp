#version 450
// y[0] = s[0] + lambda max(s[1]/n^2 - s[2], 0): s holds the sum of (1 - r_c)^2, the inner product of the halves' Gram
// matrices, and the sum of r_c^2, for the correlations r_c of column c with itself.
layout(local_size_x = 1) in;
layout(set = 0, binding = 0) readonly buffer S_ { float s[]; };
layout(set = 0, binding = 1) writeonly buffer Y_ { float y[]; };
layout(push_constant) uniform P { float lambda, n; };
void main() { y[0] = s[0] + lambda * max(s[1] / n / n - s[2], 0.0); }
