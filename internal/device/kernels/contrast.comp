#version 450
#extension GL_GOOGLE_include_directive : require
// The rows of InfoNCE: logits [rows, m] are the products of a query q and the negatives, and become the probabilities
// p_u = e^(l_u/tau)/sum. With k the query's key and sum = e^(q.k/tau) + sum_u e^(l_u/tau), loss[row] =
// ln sum - q.k/tau, and rest[row] = e^(q.k/tau)/sum - 1. The largest logit is subtracted first.
#include "rows.glsl"
layout(set = 0, binding = 0) readonly buffer Q_ { float queries[]; };
layout(set = 0, binding = 1) readonly buffer K_ { float keys[]; };
layout(set = 0, binding = 2) buffer L_ { float logits[]; };
layout(set = 0, binding = 3) writeonly buffer O_ { float loss[]; };
layout(set = 0, binding = 4) writeonly buffer R_ { float rest[]; };
layout(push_constant) uniform P { uint rows, columns, m; float tau; };
#include "functions.glsl"
void main() {
  ROWS_EACH(row, rows) {
    float v = 0.0;
    COLUMNS_EACH(j, columns) v += queries[row * columns + j] * keys[row * columns + j];
    float positive = total(v), most = positive;
    COLUMNS_EACH(j, m) most = max(most, logits[row * m + j]);
    most = greatest(most);
    float others = 0.0;
    COLUMNS_EACH(j, m) others += exp((logits[row * m + j] - most) / tau);
    others = total(others);
    float logit = (positive - most) / tau, own = exp(logit), sum = own + others;
    COLUMNS_EACH(j, m) logits[row * m + j] = exp((logits[row * m + j] - most) / tau) / sum;
    if (gl_LocalInvocationID.x == 0u) {
      loss[row] = positive == most && others <= 1.0 ? log1p01(others) : ln(sum) - logit;
      rest[row] = -others / sum;
    }
  }
}
