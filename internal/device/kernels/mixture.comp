#version 450
#extension GL_GOOGLE_include_directive : require
// For part p and row j, with k = p n + j, m distributions in the mixture and the size N m/n of their share of the data:
//   state[k, 0] = L = ln sum_i e^(density + own [i = j] + next [i is the row after j in the mixture])
//   state[k, 1], state[k, 2] = own and next, state[k, 3] = that row, -1 without one, or -2 if row j does not count
//   terms[k] = L + base for part 0, -(L + base) for others; 0 if row j does not count
// A row counts if the part's columns are on and the row has columns in two blocks. By estimator, base, own and next are
//   0 0, 0, 0        1 -ln(m size), 0, 0        2 -ln(m-1), ln((m-1)/size), ln((size-m+1)/size), for m > 1
#include "rows.glsl"
layout(set = 0, binding = 0) readonly buffer Z_ { float z[]; };
layout(set = 0, binding = 1) readonly buffer M_ { float mean[]; };
layout(set = 0, binding = 2) readonly buffer V_ { float logVariance[]; };
layout(set = 0, binding = 3) readonly buffer P_ { float precision_[]; };
layout(set = 0, binding = 4) readonly buffer K_ { float mask[]; };
layout(set = 0, binding = 5) readonly buffer T_ { float table[]; };
layout(set = 0, binding = 6) writeonly buffer S_ { float state[]; };
layout(set = 0, binding = 7) writeonly buffer E_ { float terms[]; };
layout(push_constant) uniform P { uint n, d, parts, masked, estimator; float size; };
#include "functions.glsl"
#include "mixture.glsl"
bool counts(uint part, uint j) {
  uint columns = parts - 1u;
  if (masked != 0u) {
    columns = 0u;
    for (uint c = 0u; c < d; c++) if (on(j, c)) columns++;
  }
  return columns > 1u && (part == 0u || masked == 0u || member(part, j, j));
}
void main() {
  ROWS_EACH(k, n * parts) {
    uint part = k / n, j = k % n;
    if (!counts(part, j)) {
      if (gl_LocalInvocationID.x == 0u) {
        state[4u * k + 3u] = -2.0;
        terms[k] = 0.0;
      }
      continue;
    }
    float m = 0.0, after = -float(n);
    COLUMNS_EACH(i, n) if (member(part, j, i)) {
      m += 1.0;
      if (i != j) after = max(after, -float((i + n - j) % n));
    }
    m = total(m);
    after = -greatest(after);
    float share = size * m / float(n), base = 0.0, own = 0.0, next = 0.0, row = -1.0;
    if (estimator == 1u) base = -ln(m) - ln(share);
    if (estimator == 2u && m > 1.0) {
      base = -ln(m - 1.0);
      own = ln((m - 1.0) / share);
      next = ln((share - m + 1.0) / share);
      row = float((j + uint(after)) % n);
    }
    float most = -3.4028235e38, sum = 0.0;
    COLUMNS_EACH(i, n) if (member(part, j, i)) {
      most = max(most, density(part, j, i) + (i == j ? own : float(i) == row ? next : 0.0));
    }
    most = greatest(most);
    COLUMNS_EACH(i, n) if (member(part, j, i)) {
      sum += exp(density(part, j, i) + (i == j ? own : float(i) == row ? next : 0.0) - most);
    }
    sum = most + ln(total(sum));
    if (gl_LocalInvocationID.x == 0u) {
      state[4u * k] = sum;
      state[4u * k + 1u] = own;
      state[4u * k + 2u] = next;
      state[4u * k + 3u] = row;
      terms[k] = part == 0u ? sum + base : -(sum + base);
    }
  }
}
