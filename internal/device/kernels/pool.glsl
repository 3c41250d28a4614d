// Windows along a side of n pixels, from the constants of a side: window i covers the pixels
//   [i stride - before, i stride - before + size) inside the image, or with stride 0 (bins)
//   [floor(i n / count), ceil((i+1) n / count))
struct Side { uint n, count, size, stride, before; };
uint start(Side s, uint i) {
  if (s.stride == 0u) return i * s.n / s.count;
  return i * s.stride > s.before ? i * s.stride - s.before : 0u;
}
uint end(Side s, uint i) {
  if (s.stride == 0u) return ((i + 1u) * s.n + s.count - 1u) / s.count;
  return min(i * s.stride + s.size - s.before, s.n);
}
// The windows that contain pixel p are those from first to last.
uint first(Side s, uint p) {
  if (s.stride == 0u) return p * s.count / s.n;
  uint q = p + s.before + 1u;
  return q > s.size ? (q - s.size + s.stride - 1u) / s.stride : 0u;
}
uint last(Side s, uint p) {
  if (s.stride == 0u) return ((p + 1u) * s.count + s.n - 1u) / s.n - 1u;
  return min((p + s.before) / s.stride, s.count - 1u);
}
