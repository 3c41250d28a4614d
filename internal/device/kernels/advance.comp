#version 450
// next = next + n modulo capacity
layout(local_size_x = 1) in;
layout(set = 0, binding = 0) buffer N_ { float next[]; };
layout(push_constant) uniform P { uint n, capacity; };
void main() { next[0] = float((uint(next[0]) + n) % capacity); }
