#version 450
// Writes keys [n, width] into the columns next, next+1, ... modulo capacity of a queue [width, capacity].
layout(local_size_x = 256) in;
layout(set = 0, binding = 0) readonly buffer K_ { float keys[]; };
layout(set = 0, binding = 1) readonly buffer N_ { float next[]; };
layout(set = 0, binding = 2) buffer Q_ { float queue[]; };
layout(push_constant) uniform P { uint n, width, capacity; };
void main() {
  for (uint i = gl_GlobalInvocationID.x; i < n * width; i += gl_NumWorkGroups.x * 256u)
    queue[i % width * capacity + (uint(next[0]) + i / width) % capacity] = keys[i];
}
