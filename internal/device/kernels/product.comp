#version 450
#extension GL_GOOGLE_include_directive : require
#extension GL_EXT_control_flow_attributes : require
// c[m,n] = f(sum_k a[aFrom + m am + k ak] b[bFrom + k bk + n bn] + bias[n]), row major, the sum over k from 0 to K-1.
// Part z of several adds up k from z part to (z+1) part - 1 and stores into c[z, m, n] without bias and f.
// f(v) = v where v >= 0, and below times v elsewhere: 1 for linear, 0 for ReLU, 0.2 for leaky ReLU.
layout(set = 0, binding = 0) readonly buffer A_ { float a[]; };
layout(set = 0, binding = 1) readonly buffer B_ { float b[]; };
layout(set = 0, binding = 2) readonly buffer V_ { float bias[]; };
layout(set = 0, binding = 3) writeonly buffer C_ { float c[]; };
layout(push_constant) uniform P { uint M, K, N, am, ak, bk, bn, part, biased, aFrom, bFrom; float below; };
#define LEFT_ALONG (ak == 1u)
#define RIGHT_ALONG (bk == 1u)
uint aRow[ROWS], bColumn[READ], aTerm, bTerm;
void row(int i, uint m) { aRow[i] = aFrom + m * am; }
void leftTerm(uint k) { aTerm = k * ak; }
float left(int i) { return a[aRow[i] + aTerm]; }
void column(int j, uint n) { bColumn[j] = bFrom + n * bn; }
void rightTerm(uint k) { bTerm = k * bk; }
float right(int j) { return b[bColumn[j] + bTerm]; }
void store(uint m, uint n, float v) {
  if (biased != 0u) v += bias[n];
  c[(gl_WorkGroupID.z * M + m) * N + n] = v < 0.0 ? (below > 0.0 ? below * v : 0.0) : v;
}
#include "gemm.glsl"
void main() { product(M, N, gl_WorkGroupID.z * part, min(K, (gl_WorkGroupID.z + 1u) * part)); }
