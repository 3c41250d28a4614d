#version 450
#extension GL_GOOGLE_include_directive : require
// big[i, Y, X, c] = f(sum over (ky, kx, o) of small[i, y, x, o] w[ky, kx, c, o] + bias[c]), with s y + ky - padH = Y and
// s x + kx - padW = X: a transposed convolution, and the gradient of a convolution by its input. Group z computes one
// phase, the pixels with (Y mod s, X mod s) = (z / s, z mod s), which meet the same weights: a product of patches
// [pixels, taps smallC] and weights, with sums in the order of (ky, kx, o). f as in product.comp.
layout(set = 0, binding = 0) readonly buffer X_ { float small[]; };
layout(set = 0, binding = 1) readonly buffer W_ { float w[]; };
layout(set = 0, binding = 2) readonly buffer V_ { float bias[]; };
layout(set = 0, binding = 3) writeonly buffer Y_ { float big[]; };
#include "conv.glsl"
uint phaseY, phaseX, countY, countX, firstY, firstX, tapsX;
uint image, channel;
int lastY, lastX; // the small pixel under the first tap
uint leftEnd, leftAt, rightEnd, rightAt; // places before the ends are at small[leftAt + k] and w[rightAt + k]
bool inside;
void row(uint m) {
  image = m / (countX * countY) * smallH;
  lastY = int((phaseY + m / countX % countY * stride + padH - firstY) / stride);
  lastX = int((phaseX + m % countX * stride + padW - firstX) / stride);
  leftEnd = 0u;
}
float left(uint k) {
  if (k >= leftEnd) { // k grows: divide for each tap only
    uint tap = k / smallC;
    int y = lastY - int(tap / tapsX), x = lastX - int(tap % tapsX);
    inside = y >= 0 && y < int(smallH) && x >= 0 && x < int(smallW);
    leftAt = ((image + uint(y)) * smallW + uint(x)) * smallC - tap * smallC;
    leftEnd = (tap + 1u) * smallC;
  }
  return inside ? small[leftAt + k] : 0.0;
}
void column(uint n) {
  channel = n;
  rightEnd = 0u;
}
float right(uint k) {
  if (k >= rightEnd) {
    uint tap = k / smallC;
    uint ky = firstY + tap / tapsX * stride, kx = firstX + tap % tapsX * stride;
    rightAt = ((ky * side + kx) * bigC + channel) * smallC - tap * smallC;
    rightEnd = (tap + 1u) * smallC;
  }
  return w[rightAt + k];
}
void store(uint m, uint n, float v) {
  if (biased != 0u) v += bias[n];
  uint y = m / countX % countY * stride + phaseY, x = m % countX * stride + phaseX;
  big[((m / (countX * countY) * bigH + y) * bigW + x) * bigC + n] = v < 0.0 ? (below > 0.0 ? below * v : 0.0) : v;
}
#include "gemm.glsl"
uint places(uint n, uint first, uint every) { return first < n ? (n - first + every - 1u) / every : 0u; }
void main() {
  phaseY = gl_WorkGroupID.z / stride;
  phaseX = gl_WorkGroupID.z % stride;
  countY = places(bigH, phaseY, stride);
  countX = places(bigW, phaseX, stride);
  firstY = (phaseY + padH) % stride;
  firstX = (phaseX + padW) % stride;
  tapsX = places(side, firstX, stride);
  if (gl_WorkGroupID.x * TALL >= batch * countY * countX) return;
  product(batch * countY * countX, bigC, 0u, places(side, firstY, stride) * tapsX * smallC);
}
