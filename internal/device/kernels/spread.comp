#version 450
#extension GL_GOOGLE_include_directive : require
#extension GL_EXT_control_flow_attributes : require
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
#define LEFT_ALONG true
#define RIGHT_ALONG true
int lastY[ROWS], lastX[ROWS], corner[ROWS]; // the small pixel under the first tap, and its place
int tapY, tapX, leftAt;
uint channel[READ], rightAt;
void row(int i, uint m) {
  lastY[i] = int((phaseY + m / countX % countY * stride + padH - firstY) / stride);
  lastX[i] = int((phaseX + m % countX * stride + padW - firstX) / stride);
  corner[i] = ((int(m / (countX * countY) * smallH) + lastY[i]) * int(smallW) + lastX[i]) * int(smallC);
}
void leftTerm(uint k) {
  uint tap = k / smallC;
  tapY = int(tap / tapsX);
  tapX = int(tap % tapsX);
  leftAt = int(k - tap * smallC) - (tapY * int(smallW) + tapX) * int(smallC);
}
float left(int i) {
  int y = lastY[i] - tapY, x = lastX[i] - tapX;
  return y >= 0 && y < int(smallH) && x >= 0 && x < int(smallW) ? small[corner[i] + leftAt] : 0.0;
}
void column(int j, uint n) { channel[j] = n * smallC; }
void rightTerm(uint k) {
  uint tap = k / smallC, ky = firstY + tap / tapsX * stride, kx = firstX + tap % tapsX * stride;
  rightAt = (ky * side + kx) * bigC * smallC + k - tap * smallC;
}
float right(int j) { return w[rightAt + channel[j]]; }
void store(uint m, uint n, float v) {
  if (biased != 0u) v += bias[n];
  uint y = m / countX % countY * stride + phaseY, x = m % countX * stride + phaseX;
  big[(((gl_WorkGroupID.z / (stride * stride) * batch + m / (countX * countY)) * bigH + y) * bigW + x) * bigC + n] = v < 0.0 ? (below > 0.0 ? below * v : 0.0) : v;
}
#include "gemm.glsl"
uint places(uint n, uint first, uint every) { return first < n ? (n - first + every - 1u) / every : 0u; }
void main() {
  phaseY = gl_WorkGroupID.z / stride % stride;
  phaseX = gl_WorkGroupID.z % stride;
  countY = places(bigH, phaseY, stride);
  countX = places(bigW, phaseX, stride);
  firstY = (phaseY + padH) % stride;
  firstX = (phaseX + padW) % stride;
  tapsX = places(side, firstX, stride);
  if (gl_WorkGroupID.x * TALL >= batch * countY * countX) return;
  uint from = gl_WorkGroupID.z / (stride * stride) * part, all = places(side, firstY, stride) * tapsX * smallC;
  product(batch * countY * countX, bigC, min(from, all), min(all, from + part));
}
