// The geometry of a convolution, as in internal/kernel: the big image is a convolution's input or a transposed
// convolution's output, the small image the other one. Both are [batch, height, width, channels]; weights are
// [kernel, kernel, big channels, small channels]. Small pixel (y, x) meets big pixel (s y + ky - padH, s x + kx - padW)
// under the weights (ky, kx).
layout(push_constant) uniform P {
  uint batch, bigH, bigW, bigC, smallH, smallW, smallC, side, stride, padH, padW, part, biased;
  float below;
};
