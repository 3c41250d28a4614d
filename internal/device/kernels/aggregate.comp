#version 450
#extension GL_GOOGLE_include_directive : require
// y[0] = the sum over blocks of the aggregate q of its groups' values, by aggregate 0 mean, 1 max, 2 sum, 3 mean of
// squares. Only groups with at least least rows count. The weight of a group becomes c dq/dvalue, c as in deviation.comp.
// Among equal maxima, the group with the smallest label has the gradient. One group of threads computes all.
#include "rows.glsl"
layout(set = 0, binding = 0) readonly buffer L_ { float labels[]; };
layout(set = 0, binding = 1) readonly buffer T_ { float table[]; };
layout(set = 0, binding = 2) readonly buffer M_ { float members[]; };
layout(set = 0, binding = 3) buffer V_ { float values[]; };
layout(set = 0, binding = 4) writeonly buffer Y_ { float y[]; };
layout(push_constant) uniform P { uint n, blocks, factors, aggregate, unbiased, least; };
bool counts(uint block, uint i) {
  uint k = block * n + i;
  return members[2u * k] == float(i) && members[2u * k + 1u] >= float(least);
}
float infinity() { return uintBitsToFloat(0x7f800000u); }
// The largest finite number replaces infinities among keys, so that a group without a number comes first.
float keyOf(float v) { return isnan(v) ? infinity() : min(v, 3.4028235e38); }
void main() {
  float out_ = 0.0;
  for (uint block = 0u; block < blocks; block++) {
    uint factor = uint(table[3u * block]), from = block * n;
    float count = 0.0, sum = 0.0, most = -1.0, label = -infinity();
    COLUMNS_EACH(i, n) if (counts(block, i)) {
      float v = values[4u * (from + i)];
      count += 1.0;
      sum += aggregate == 3u ? v * v : v;
      most = max(most, keyOf(v));
    }
    count = total(count);
    if (aggregate == 1u) {
      most = greatest(most);
      COLUMNS_EACH(i, n) if (counts(block, i) && keyOf(values[4u * (from + i)]) == most) {
        label = max(label, -labels[i * factors + factor]);
      }
      label = -greatest(label);
      sum = 0.0;
    }
    COLUMNS_EACH(i, n) if (counts(block, i)) {
      float v = values[4u * (from + i)], size = members[2u * (from + i) + 1u];
      float weight = aggregate == 2u ? 1.0 : (aggregate == 3u ? 2.0 * v : 1.0) / count;
      if (aggregate == 1u) {
        weight = keyOf(v) == most && labels[i * factors + factor] == label ? 1.0 : 0.0;
        if (weight > 0.0) sum = v;
      }
      values[4u * (from + i) + 3u] = weight * (unbiased != 0u && size > 1.0 ? size / (size - 1.0) : 1.0);
    } else if (members[2u * (from + i)] == float(i)) values[4u * (from + i) + 3u] = 0.0;
    sum = total(sum);
    out_ += count > 0.0 && (aggregate == 0u || aggregate == 3u) ? sum / count : sum;
  }
  if (gl_LocalInvocationID.x == 0u) y[0] = out_;
}
