//go:build !amd64

package kernel

func relu(y []float32)              { reluGo(y) }
func leaky(y []float32)             { leakyGo(y) }
func elu(dst, x []float32)          { eluGo(dst, x) }
func gelu(dst, x []float32)         { geluGo(dst, x) }
func silu(dst, x []float32)         { siluGo(dst, x) }
func eluGrad(dst, dy, y []float32)  { eluGradGo(dst, dy, y) }
func geluGrad(dst, dy, x []float32) { geluGradGo(dst, dy, x) }
func siluGrad(dst, dy, x []float32) { siluGradGo(dst, dy, x) }
func multiply(dst, x, y []float32)  { multiplyGo(dst, x, y) }
func mix(dst []float32, a float32, x []float32, b float32, y []float32) {
	mixGo(dst, a, x, b, y)
}
func largest(dst, x []float32)        { largestGo(dst, x) }
func claim(dst, left, x, y []float32) { claimGo(dst, left, x, y) }
