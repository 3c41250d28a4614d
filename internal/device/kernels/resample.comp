#version 450
#extension GL_GOOGLE_include_directive : require
// A linear map along both sides of images, and its transpose for gradients (back 1), by f:
//   0 averages over windows: x [batch, n, n', channels], y [batch, count, count', channels]
//   1 nearest and 2 bilinear enlargement by size times, with count = size n. Pixel i of the result lies at
//     p = max((i + 1/2)/size - 1/2, 0), between floor(p) and the next pixel.
// Each output adds up its terms row by row.
layout(local_size_x = 256) in;
layout(set = 0, binding = 0) readonly buffer X_ { float x[]; };
layout(set = 0, binding = 1) writeonly buffer Y_ { float y[]; };
#include "pool.glsl"
layout(push_constant) uniform P { uint total, channels, f, back; Side rows, columns; };
// the first and the last place that a result at i depends on
uvec2 range(Side s, uint i) {
  if (f == 0u) return back != 0u ? uvec2(first(s, i), min(last(s, i), s.count - 1u)) : uvec2(start(s, i), end(s, i) - 1u);
  if (back != 0u) {
    uint t = s.size;
    if (f == 1u) return uvec2(i * t, i * t + t - 1u);
    return uvec2(i > 0u ? (i - 1u) * t : 0u, min((i + 2u) * t, s.count) - 1u);
  }
  if (f == 1u) return uvec2(i / s.size);
  uint p = max(2u * i + 1u, s.size) - s.size;
  return uvec2(p / (2u * s.size), min(p / (2u * s.size) + 1u, s.n - 1u));
}
// the weight of pixel p of the small image in pixel i of the other one, if range joins them
float weight(Side s, uint p, uint i) {
  if (f == 0u) return 1.0 / float(end(s, i) - start(s, i));
  if (f == 1u) return 1.0;
  uint q = max(2u * i + 1u, s.size) - s.size, from = q / (2u * s.size);
  float part = float(q % (2u * s.size)) / float(2u * s.size);
  if (from == s.n - 1u) return p == from ? 1.0 : 0.0;
  return p == from ? 1.0 - part : p == from + 1u ? part : 0.0;
}
void main() {
  uint high = back != 0u ? rows.n : rows.count, wide = back != 0u ? columns.n : columns.count;
  uint tall = back != 0u ? rows.count : rows.n, broad = back != 0u ? columns.count : columns.n;
  for (uint i = gl_GlobalInvocationID.x; i < total; i += gl_NumWorkGroups.x * 256u) {
    uint c = i % channels, column = i / channels % wide, row = i / (channels * wide) % high;
    uint image = i / (channels * wide * high) * tall;
    uvec2 rs = range(rows, row), cs = range(columns, column);
    float sum = 0.0;
    for (uint r = rs.x; r <= rs.y; r++) {
      float v = 0.0;
      for (uint k = cs.x; k <= cs.y; k++)
        v += (back != 0u ? weight(columns, column, k) : weight(columns, k, column)) * x[((image + r) * broad + k) * channels + c];
      sum += (back != 0u ? weight(rows, row, r) : weight(rows, r, row)) * v;
    }
    y[i] = sum;
  }
}
