#version 450
#extension GL_GOOGLE_include_directive : require
// small[i, y, x, o] = f(sum over (ky, kx, c) of big[i, s y + ky - padH, s x + kx - padW, c] w[ky, kx, c, o] + bias[o]),
// pixels outside the image being 0: a convolution, and the gradient of a transposed one by its input. It is a product
// of patches [pixels, side^2 bigC] and weights, with sums in the order of (ky, kx, c); patches are not stored. f as in
// product.comp.
layout(set = 0, binding = 0) readonly buffer X_ { float big[]; };
layout(set = 0, binding = 1) readonly buffer W_ { float w[]; };
layout(set = 0, binding = 2) readonly buffer V_ { float bias[]; };
layout(set = 0, binding = 3) writeonly buffer Y_ { float small[]; };
#include "conv.glsl"
uint image, output_;
int top, edge;
uint tapEnd, at; // the weights' places before tapEnd take the pixel's channels from big[at + k]
bool inside;
void row(uint m) {
  image = m / (smallW * smallH) * bigH;
  top = int(m / smallW % smallH * stride) - int(padH);
  edge = int(m % smallW * stride) - int(padW);
  tapEnd = 0u;
}
float left(uint k) {
  if (k >= tapEnd) { // k grows: divide for each tap only
    uint tap = k / bigC;
    int y = top + int(tap / side), x = edge + int(tap % side);
    inside = y >= 0 && y < int(bigH) && x >= 0 && x < int(bigW);
    at = ((image + uint(y)) * bigW + uint(x)) * bigC - tap * bigC;
    tapEnd = (tap + 1u) * bigC;
  }
  return inside ? big[at + k] : 0.0;
}
void column(uint n) { output_ = n; }
float right(uint k) { return w[k * smallC + output_]; }
void store(uint m, uint n, float v) {
  if (biased != 0u) v += bias[n];
  small[m * smallC + n] = v < 0.0 ? (below > 0.0 ? below * v : 0.0) : v;
}
#include "gemm.glsl"
void main() { product(batch * smallH * smallW, smallC, 0u, side * side * bigC); }
