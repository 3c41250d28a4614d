//go:build !amd64

package kernel

func exp(dst, x []float32)                                  { expGo(dst, x) }
func log(dst, x []float32)                                  { logGo(dst, x) }
func tanh(dst, x []float32)                                 { tanhGo(dst, x) }
func sigmoid(dst, x []float32)                              { sigmoidGo(dst, x) }
func softplus(dst, x []float32)                             { softplusGo(dst, x) }
func reluGrad(dst, dy, y []float32)                         { reluGradGo(dst, dy, y) }
func leakyGrad(dst, dy, y []float32)                        { leakyGradGo(dst, dy, y) }
func sigmoidGrad(dst, dy, y []float32)                      { sigmoidGradGo(dst, dy, y) }
func tanhGrad(dst, dy, y []float32)                         { tanhGradGo(dst, dy, y) }
func add(dst, x []float32)                                  { addGo(dst, x) }
func axpy(dst, x []float32, a float32)                      { axpyGo(dst, x, a) }
func scale(dst, x []float32, a float32)                     { scaleGo(dst, x, a) }
func columnSum(dst, src []float32, rows, stride int)        { columnSumGo(dst, src, rows, stride) }
func sumLanes(acc *[16]float32, x []float32)                { sumLanesGo(acc, x) }
func sumSquaresLanes(acc *[16]float32, x []float32)         { sumSquaresLanesGo(acc, x) }
func dotLanes(acc *[16]float32, x, y []float32)             { dotLanesGo(acc, x, y) }
func squaredErrorLanes(acc *[16]float32, x, y []float32)    { squaredErrorLanesGo(acc, x, y) }
func sigmoidErrorLanes(acc *[16]float32, s, l, x []float32) { sigmoidErrorLanesGo(acc, s, l, x) }
func logisticErrorLanes(acc *[16]float32, l, x []float32)   { logisticErrorLanesGo(acc, l, x) }
func sigmoidErrorGrad(dst, s, x []float32, a float32)       { sigmoidErrorGradGo(dst, s, x, a) }
func logisticErrorGrad(dst, l, x []float32, a float32)      { logisticErrorGradGo(dst, l, x, a) }
func adam(p, m, v, g []float32, c *[8]float32)              { adamGo(p, m, v, g, c) }
func transpose8x8(dst, src []float32, dstStride, srcStride int) {
	transpose8x8Go(dst, src, dstStride, srcStride)
}
