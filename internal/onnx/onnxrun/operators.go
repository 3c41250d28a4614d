package onnxrun

import (
	"math"

	"github.com/unravel-ml/unravel/internal/kernel"
)

// operators are the supported operators of the standard domain.
var operators = map[string]operator{
	// layers
	"AveragePool":        {1, 1, averagePool},
	"BatchNormalization": {5, 5, batchNorm},
	"Conv":               {2, 3, convolution},
	"ConvTranspose":      {2, 3, convTranspose},
	"Dropout":            {1, 3, dropout},
	"Gemm":               {2, 3, gemm},
	"GlobalAveragePool":  {1, 1, globalPool(mean)},
	"GlobalMaxPool":      {1, 1, globalPool(maximum)},
	"MatMul":             {2, 2, matMul},
	"MaxPool":            {1, 1, maxPool},
	"Resize":             {1, 4, resize},
	"Upsample":           {2, 2, resize},

	// elementwise functions
	"Abs":         unary(inFloat64(math.Abs)),
	"Ceil":        unary(inFloat64(math.Ceil)),
	"Clip":        {1, 3, clip},
	"Cos":         unary(inFloat64(math.Cos)),
	"Elu":         {1, 1, elu},
	"Erf":         unary(inFloat64(math.Erf)),
	"Exp":         unary(kernel.Exp),
	"Floor":       unary(inFloat64(math.Floor)),
	"Gelu":        {1, 1, gelu},
	"HardSigmoid": {1, 1, hardSigmoid},
	"HardSwish":   unary(inFloat64(func(x float64) float64 { return x * min(max(x/6+0.5, 0), 1) })),
	"Identity":    {1, 1, identity},
	"LeakyRelu":   {1, 1, leakyRelu},
	"Log":         unary(inFloat64(math.Log)),
	"Neg":         unary(inFloat64(func(x float64) float64 { return -x })),
	"Reciprocal":  unary(inFloat64(func(x float64) float64 { return 1 / x })),
	"Relu":        unary(activation(kernel.ReLUActivation)),
	"Round":       unary(inFloat64(math.RoundToEven)),
	"Sigmoid":     unary(kernel.Sigmoid),
	"Sign":        unary(inFloat64(sign)),
	"Sin":         unary(inFloat64(math.Sin)),
	"Softplus":    unary(kernel.Softplus),
	"Sqrt":        unary(inFloat64(math.Sqrt)),
	"Tanh":        unary(kernel.Tanh),

	// functions of two or more arrays
	"Add":            binary(func(a, b float32) float32 { return a + b }, func(a, b int64) int64 { return a + b }),
	"And":            binary(nil, func(a, b int64) int64 { return truth(a != 0 && b != 0) }),
	"Div":            binary(func(a, b float32) float32 { return a / b }, quotient),
	"Equal":          compare(func(a, b float32) bool { return a == b }, func(a, b int64) bool { return a == b }),
	"Greater":        compare(func(a, b float32) bool { return a > b }, func(a, b int64) bool { return a > b }),
	"GreaterOrEqual": compare(func(a, b float32) bool { return a >= b }, func(a, b int64) bool { return a >= b }),
	"Less":           compare(func(a, b float32) bool { return a < b }, func(a, b int64) bool { return a < b }),
	"LessOrEqual":    compare(func(a, b float32) bool { return a <= b }, func(a, b int64) bool { return a <= b }),
	"Max":            variadic(func(a, b float32) float32 { return max(a, b) }, func(a, b int64) int64 { return max(a, b) }),
	"Min":            variadic(func(a, b float32) float32 { return min(a, b) }, func(a, b int64) int64 { return min(a, b) }),
	"Mul":            binary(func(a, b float32) float32 { return a * b }, func(a, b int64) int64 { return a * b }),
	"Not":            {1, 1, not},
	"Or":             binary(nil, func(a, b int64) int64 { return truth(a != 0 || b != 0) }),
	"PRelu":          binary(prelu, nil),
	"Pow":            binary(func(a, b float32) float32 { return float32(math.Pow(float64(a), float64(b))) }, nil),
	"Sub":            binary(func(a, b float32) float32 { return a - b }, func(a, b int64) int64 { return a - b }),
	"Sum":            variadic(func(a, b float32) float32 { return a + b }, nil),
	"Where":          {3, 3, where},

	// reductions
	"ArgMax":     {1, 1, argExtreme(func(a, b float32) bool { return a > b })},
	"ArgMin":     {1, 1, argExtreme(func(a, b float32) bool { return a < b })},
	"LogSoftmax": {1, 1, softmax(true)},
	"ReduceMax":  {1, 2, reduce(maximum, 18)},
	"ReduceMean": {1, 2, reduce(mean, 18)},
	"ReduceMin":  {1, 2, reduce(minimum, 18)},
	"ReduceSum":  {1, 2, reduce(sum, 13)},
	"Softmax":    {1, 1, softmax(false)},

	// shapes and indices
	"Cast":            {1, 1, cast},
	"Concat":          {1, unlimited, concat},
	"Constant":        {0, 0, constant},
	"ConstantOfShape": {1, 1, constantOfShape},
	"DepthToSpace":    {1, 1, depthToSpace},
	"Expand":          {2, 2, expand},
	"Flatten":         {1, 1, flatten},
	"Gather":          {2, 2, gather},
	"Pad":             {1, 4, pad},
	"Reshape":         {2, 2, reshape},
	"Shape":           {1, 1, shapeOf},
	"Slice":           {1, 5, slice},
	"Split":           {1, 2, split},
	"Squeeze":         {1, 2, squeeze},
	"Transpose":       {1, 1, transpose},
	"Unsqueeze":       {1, 2, unsqueeze},
}

func sign(x float64) float64 {
	switch {
	case x > 0:
		return 1
	case x < 0:
		return -1
	}
	return x
}

func truth(b bool) int64 {
	if b {
		return 1
	}
	return 0
}

func prelu(x, slope float32) float32 {
	if x < 0 {
		return slope * x
	}
	return x
}

// quotient rounds towards zero. b is not 0: see binary.
func quotient(a, b int64) int64 {
	if b == 0 {
		return 0
	}
	return a / b
}
