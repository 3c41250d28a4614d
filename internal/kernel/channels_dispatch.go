package kernel

// The functions of this file run the assembly on 16 channels.

func channelSquares(sum, square, x, shift []float32, rows, stride int) {
	channelSquaresVector(&sum[0], &square[0], &x[0], &shift[0], rows, stride)
}

func channelProducts(sum, product, u, x, shift []float32, rows, stride int) {
	channelProductsVector(&sum[0], &product[0], &u[0], &x[0], &shift[0], rows, stride)
}

func channelMap(dst, x, shift, scale, offset []float32, rows, stride int, floor float32) {
	channelMapVector(&dst[0], &x[0], &shift[0], &scale[0], &offset[0], rows, stride, floor)
}

func channelGradient(dst, u, x, shift, a, b, offset []float32, rows, stride int) {
	channelGradientVector(&dst[0], &u[0], &x[0], &shift[0], &a[0], &b[0], &offset[0], rows, stride)
}
