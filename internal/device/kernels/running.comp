#version 450
// Running moments [2, channels] move a tenth of the way to the moments of each set in order. Variances are first
// multiplied by unbiased = count/(count-1); with 0 for unbiased they stay.
layout(local_size_x = 256) in;
layout(set = 0, binding = 0) readonly buffer M_ { float moments[]; };
layout(set = 0, binding = 1) buffer R_ { float running[]; };
layout(push_constant) uniform P { uint sets, channels; float unbiased; };
void main() {
  for (uint i = gl_GlobalInvocationID.x; i < 2u * channels; i += gl_NumWorkGroups.x * 256u) {
    if (i >= channels && unbiased == 0.0) continue;
    float v = running[i];
    for (uint set = 0u; set < sets; set++) {
      float m = moments[set * 2u * channels + i];
      if (i >= channels) m *= unbiased;
      v += 0.1 * (m - v);
    }
    running[i] = v;
  }
}
