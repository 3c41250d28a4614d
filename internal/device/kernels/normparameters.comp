#version 450
// The gradients of gamma and beta, sums over the sets i in order: with s as in normslopes.comp,
//   d[c] = sum of s[i, 0, c] (beta: gamma 0), d[c] = sum of s[i, 1, c]/sqrt(variance + epsilon) (gamma 1)
layout(local_size_x = 256) in;
layout(set = 0, binding = 0) readonly buffer S_ { float s[]; };
layout(set = 0, binding = 1) readonly buffer M_ { float moments[]; };
layout(set = 0, binding = 2) writeonly buffer D_ { float d[]; };
layout(push_constant) uniform P { uint sets, channels, gamma; float epsilon; };
void main() {
  for (uint c = gl_GlobalInvocationID.x; c < channels; c += gl_NumWorkGroups.x * 256u) {
    float v = 0.0;
    for (uint i = 0u; i < sets; i++) {
      uint at = 2u * i * channels + c;
      v += gamma != 0u ? s[at + channels] / sqrt(moments[at + channels] + epsilon) : s[at];
    }
    d[c] = v;
  }
}
