#version 450
// moments[i, 0, c] = the mean and moments[i, 1, c] = the variance of set i's channels, from sums s[i, 0, c] of the
// differences from the set's first row and sums s[i, 1, c] of their squares. A thread computes the moments of one
// group of wide neighbouring channels, which share them: with m_c and v_c of the channels, the mean of m_c and the mean
// of v_c + (m_c - mean)^2.
layout(local_size_x = 256) in;
layout(set = 0, binding = 0) readonly buffer X_ { float x[]; };
layout(set = 0, binding = 1) readonly buffer S_ { float s[]; };
layout(set = 0, binding = 2) writeonly buffer M_ { float moments[]; };
layout(push_constant) uniform P { uint sets, rows, channels, wide; };
void main() {
  uint groups = channels / wide;
  for (uint i = gl_GlobalInvocationID.x; i < sets * groups; i += gl_NumWorkGroups.x * 256u) {
    uint set = i / groups, from = i % groups * wide;
    uint row = set * rows * channels, at = 2u * set * channels;
    float n = float(rows), mean = 0.0, variance = 0.0, base = x[row + from];
    for (uint c = from; c < from + wide; c++) mean += (x[row + c] - base) + s[at + c] / n;
    mean /= float(wide);
    for (uint c = from; c < from + wide; c++) {
      float d = s[at + c] / n, apart = (x[row + c] - base) + d - mean;
      float v = s[at + channels + c] / n - d * d;
      variance += max(v, 0.0) + apart * apart;
    }
    variance /= float(wide);
    for (uint c = from; c < from + wide; c++) {
      moments[at + c] = base + mean;
      moments[at + channels + c] = variance;
    }
  }
}
