#version 450
#extension GL_GOOGLE_include_directive : require
// state[at] = the bandwidth, and state[at + 1], state[at + 2] = rows i and j, equal if the bandwidth is constant. If given is
// 0, the bandwidth is the median of the distances in squares (hsicdistances.comp), and i, j its first pair; 1 for the
// median 0. Bits of floats >= 0 have the order of the floats. From the highest bit on, a bit of the median is 1 if at
// most as many floats as precede the median are below the number so far with this bit. One group of threads computes all.
layout(local_size_x = 256) in;
layout(set = 0, binding = 0) readonly buffer Q_ { float squares[]; };
layout(set = 0, binding = 1) readonly buffer C_ { float chosen[]; };
layout(set = 0, binding = 2) buffer S_ { float state[]; };
layout(push_constant) uniform P { uint at; float given; };
#include "hsicpairs.glsl"
shared uint counts[256];
uint tree(uint v, bool least) {
  uint t = gl_LocalInvocationID.x;
  barrier();
  counts[t] = v;
  barrier();
  for (uint h = 128u; h > 0u; h >>= 1) {
    if (t < h) counts[t] = least ? min(counts[t], counts[t + h]) : counts[t] + counts[t + h];
    barrier();
  }
  return counts[0];
}
void main() {
  uint t = gl_LocalInvocationID.x, known = uint(chosen[0]), width = partnersOf(known), n = known * width;
  uint bits = 0u, first = n;
  if (given == 0.0 && n > 0u) {
    uint pairs = everyPair(known) ? n / 2u : n, before = (pairs - 1u) / 2u;
    for (uint bit = 1u << 30; bit > 0u; bit >>= 1) {
      uint below = 0u;
      for (uint k = t; k < n; k += 256u) if (floatBitsToUint(squares[k]) < (bits | bit)) below++;
      if (tree(below, false) <= before) bits |= bit;
    }
    for (uint k = t; k < n; k += 256u) if (floatBitsToUint(squares[k]) == bits) first = min(first, k);
    first = tree(first, true);
  }
  if (t > 0u) return;
  bool found = bits > 0u && first < n;
  state[at] = given != 0.0 ? given : found ? sqrt(uintBitsToFloat(bits)) : 1.0;
  state[at + 1u] = found ? float(first / width) : 0.0;
  state[at + 2u] = found ? float((first / width + 1u + first % width) % known) : 0.0;
}
