#version 450
// A function K of l = log t and its derivative, in three pieces by t: for t <= small the expansion
//   K = a l + b + c_1 t + ... + c_8 t^8,
// up to t = last interpolation of a table of values and derivatives at l = first + i step, then 0; without a table NaN.
// Values are interpolated by Hermite's cubic, derivatives by Lagrange's through four places.
// gradient 0: d[row] = K; gradient 1: d[row] = scale dout[0] K'.
layout(local_size_x = 256) in;
layout(set = 0, binding = 0) readonly buffer L_ { float logT[]; };
layout(set = 0, binding = 1) readonly buffer T_ { float table[]; };
layout(set = 0, binding = 2) readonly buffer G_ { float dout[]; };
layout(set = 0, binding = 3) writeonly buffer D_ { float d[]; };
layout(push_constant) uniform P {
  uint rows, gradient, count;
  float scale, small, last, first, step_, a, b, c1, c2, c3, c4, c5, c6, c7, c8;
};
vec2 expansion(float l, float t) {
  float v = t * c8, s = 8.0 * c8;
  v = t * (c7 + v); s = t * s + 7.0 * c7;
  v = t * (c6 + v); s = t * s + 6.0 * c6;
  v = t * (c5 + v); s = t * s + 5.0 * c5;
  v = t * (c4 + v); s = t * s + 4.0 * c4;
  v = t * (c3 + v); s = t * s + 3.0 * c3;
  v = t * (c2 + v); s = t * s + 2.0 * c2;
  v = t * (c1 + v); s = t * s + c1;
  return vec2(a * l + b + v, a + t * s);
}
vec2 both(float l) {
  float t = exp(l);
  if (t <= small) return expansion(l, t);
  if (count == 0u || isnan(l)) return vec2(uintBitsToFloat(0x7fc00000u));
  if (t > last) return vec2(0.0);
  float u = max((l - first) / step_, 0.0);
  uint i = min(uint(u), count - 2u);
  float x = u - float(i);
  float p = table[2u * i], q = table[2u * i + 2u], m = step_ * table[2u * i + 1u], n = step_ * table[2u * i + 3u];
  float e = q - p;
  float value = p + x * (m + x * ((3.0 * e - 2.0 * m - n) + x * (m + n - 2.0 * e)));
  i = clamp(i, 1u, count - 3u);
  x = u - float(i);
  float slope = -x * (x - 1.0) * (x - 2.0) / 6.0 * table[2u * i - 1u] + (x + 1.0) * (x - 1.0) * (x - 2.0) / 2.0 * table[2u * i + 1u]
    - (x + 1.0) * x * (x - 2.0) / 2.0 * table[2u * i + 3u] + (x + 1.0) * x * (x - 1.0) / 6.0 * table[2u * i + 5u];
  return vec2(value, slope);
}
void main() {
  for (uint i = gl_GlobalInvocationID.x; i < rows; i += gl_NumWorkGroups.x * 256u) {
    vec2 k = both(logT[i]);
    d[i] = gradient == 0u ? k.x : scale * dout[0] * k.y;
  }
}
