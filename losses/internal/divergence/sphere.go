package divergence

import (
	"math"

	"gonum.org/v1/gonum/integrate/quad"
	"gorgonia.org/gorgonia"
	"gorgonia.org/tensor"

	"github.com/unravel-ml/unravel/graph"
	"github.com/unravel-ml/unravel/graph/vulkan"
	"github.com/unravel-ml/unravel/internal/device/kernels"
)

// KLSphere adds the node that losses.KLSphere documents.
func KLSphere(logT *gorgonia.Node, dim int) (*gorgonia.Node, error) {
	return graph.Apply(graph.Spec{
		Name: "sphere kl",
		Key:  graph.Key(dim),
		Shape: func(in []tensor.Shape) (tensor.Shape, error) {
			if dim < 1 {
				return nil, graph.Wanted("a sphere of dimension 1 or more", dim)
			}
			if len(in) != 1 || in[0].Dims() != 2 || in[0][0] < 1 || in[0][1] != 1 {
				return nil, graph.Wanted("log t of shape [rows, 1]", in)
			}
			return tensor.ScalarShape(), nil
		},
		New: graph.Bodies(
			func(in []tensor.Shape) graph.Body[float32] { return newSphereKL[float32](dim, in[0][0]) },
			func(in []tensor.Shape) graph.Body[float64] { return newSphereKL[float64](dim, in[0][0]) }),
		Device: func(in []tensor.Shape, _ tensor.Shape) (graph.Recording, error) {
			rows, k := in[0][0], newHeatKernel(dim).pieces()
			return graph.Recording{
				Forward: func(t *vulkan.Tape, in []vulkan.Buffer, out vulkan.Buffer) {
					kernels.KLSphere(t, in[0], out, k, rows)
				},
				Backward: func(t *vulkan.Tape, in []vulkan.Buffer, _, dout vulkan.Buffer, din []vulkan.Buffer) {
					kernels.KLSphereGradient(t, in[0], dout, din[0], k, rows)
				},
			}, nil
		},
	}, logT)
}

// sphereKL is the operation of [KLSphere]; it stores the derivatives of the rows' divergences with respect to log t.
type sphereKL[T graph.Float] struct {
	kernel *heatKernel
	slopes []float64
}

func newSphereKL[T graph.Float](dim, rows int) *sphereKL[T] {
	return &sphereKL[T]{newHeatKernel(dim), make([]float64, rows)}
}

func (k *sphereKL[T]) Forward(in [][]T, out []T) {
	sum := 0.0
	for i, v := range in[0] {
		var kl float64
		kl, k.slopes[i] = k.kernel.divergence(float64(v))
		sum += kl
	}
	out[0] = T(sum / float64(len(in[0])))
}

func (k *sphereKL[T]) Backward(_ [][]T, _, dout []T, din [][]T) {
	g := float64(dout[0]) / float64(len(k.slopes))
	for i, s := range k.slopes {
		din[0][i] = T(g * s)
	}
}

// SphereTime is losses.SphereTime.
func SphereTime(dim int) float64 {
	if dim <= maxSeries {
		return math.Inf(1)
	}
	return 1 / float64(dim)
}

// maxSeries is the largest dimension for which the heat kernel is computed at all times. Above it, the series suffers
// from cancellation at times where the expansion is inaccurate.
const maxSeries = 100

// heatKernel computes the divergence between the heat kernel of a sphere and the uniform distribution, in the notation
// of losses.KLSphere. For small t the series would be long, so the expansion
//
//	KL = -(d/2) log(2 pi e t) + log Vol(S^d) + (t/4) d (d-1) + c_2 t^2 + ... + c_8 t^8
//
// replaces it. Where the two meet, they differ by 1e-11 up to dimension 10 and by 1e-7 at dimension 100. On the circle
// all c_n are 0: the error of the expansion is exp(-pi^2/(2 t)), the first term of the other form of the theta series.
type heatKernel struct {
	dim              float64
	constant         float64
	powers           [8]float64 // c_1, ...
	maxExpansionTime float64    // largest time of the expansion
	maxTime          float64    // largest time of the kernel, with room for rounding
	harmonics        *harmonics // built when first needed
}

func newHeatKernel(dim int) *heatKernel {
	d := float64(dim)
	k := &heatKernel{dim: d, constant: -d/2*math.Log(2*math.Pi) - d/2 + logVolume(dim)}
	for n, polynomial := range heatPowers {
		for i := len(polynomial) - 1; i >= 0; i-- {
			k.powers[n] = d * (polynomial[i] + k.powers[n])
		}
	}
	k.maxExpansionTime = math.Min(1, math.Max(0.1, d/maxSeries)) / d
	k.maxTime = SphereTime(dim) * 1.001
	if dim > maxSeries {
		k.maxExpansionTime = k.maxTime
	}
	return k
}

// divergence returns the divergence at log t and its derivative with respect to log t.
func (k *heatKernel) divergence(logT float64) (kl, slope float64) {
	t := math.Exp(logT)
	switch {
	case t <= k.maxExpansionTime:
		return k.expansion(logT, t)
	case !(t <= k.maxTime):
		return math.NaN(), math.NaN()
	case t*k.dim > 1000: // the kernel is uniform up to rounding
		return 0, 0
	}
	if k.harmonics == nil {
		k.harmonics = newHarmonics(int(k.dim), k.maxExpansionTime)
	}
	return k.harmonics.divergence(t)
}

// pieces returns the divergence as a function for a device: the expansion for small t, and a table for larger t.
func (k *heatKernel) pieces() *kernels.Pieces {
	last := 90 / k.dim // beyond this time the divergence is below the smallest float32
	p := &kernels.Pieces{Slope: -k.dim / 2, Constant: k.constant, Powers: k.powers, Small: k.maxExpansionTime, Last: last,
		First: math.Log(k.maxExpansionTime), Step: 1. / tableSteps}
	if k.dim > maxSeries {
		return p
	}
	for l := p.First; l < math.Log(last)+p.Step; l += p.Step {
		kl, slope := k.divergence(math.Nextafter(l, math.Inf(1)))
		p.Table = append(p.Table, float32(kl), float32(slope))
	}
	return p
}

func (k *heatKernel) expansion(logT, t float64) (kl, slope float64) {
	sum, derivative := 0.0, 0.0
	for n := len(k.powers) - 1; n >= 0; n-- {
		sum = t * (k.powers[n] + sum)
		derivative = t*derivative + float64(n+1)*k.powers[n]
	}
	return -k.dim/2*logT + k.constant + sum, t*derivative - k.dim/2
}

// logVolume returns log Vol(S^d) = log(2 pi^((d+1)/2) / Gamma((d+1)/2)).
func logVolume(d int) float64 {
	half := float64(d+1) / 2
	g, _ := math.Lgamma(half)
	return math.Ln2 + half*math.Log(math.Pi) - g
}

// heatPowers are the coefficients of d, d^2, ... in c_1 to c_8. They follow from the moments of theta^2 and from the
// equation of h = log f_t with the derivatives h1 and h2 by theta, dh/dt = (h2 + (d-1) cot(theta) h1 + h1^2) / 2. It is
// solved in powers of t and theta^2.
var heatPowers = [8][]float64{
	{-1. / 4, 1. / 4},
	{-7. / 144, 5. / 72, -1. / 48},
	{-5. / 324, 7. / 324, -1. / 162},
	{-1979. / 259200, 623. / 64800, -149. / 129600, -13. / 12960, 1. / 5760},
	{-173. / 32400, 601. / 97200, 1. / 6480, -13. / 10800, 1. / 4860},
	{-2767171. / 571536000, 4544711. / 857304000, 221329. / 342921600, -184777. / 142884000, 331. / 1959552,
		541. / 24494400, -1. / 362880},
	{-769501. / 142884000, 2430907. / 428652000, 12743. / 11907000, -329933. / 214326000, 11701. / 85730400,
		157. / 2916000, -41. / 6123600},
	{-25935251. / 3657830400, 27641741. / 3810240000, 355430711. / 205752960000, -215523059. / 102876480000,
		46462399. / 411505920000, 10481633. / 102876480000, -455677. / 41150592000, -307. / 587865600, 1. / 19353600},
}

// tableSteps is the number of table entries for a unit of log t. The interpolation is as accurate as float32.
const tableSteps = 256

// harmonics are the values of the polynomials R_l at the nodes of a quadrature of [0, pi].
type harmonics struct {
	weights []float64   // weights of the uniform distribution of theta; their sum is 1
	zonal   [][]float64 // R_l at the nodes, for l from 1 on
	decay   []float64   // l (l+d-1) / 2
	logSize []float64   // log n_l
	term    []float64   // n_l exp(-decay t)
}

const (
	heatNodes = 160
	heatFloor = -50 // for log sqrt(n_l) exp(-decay t), the size of a term where its polynomial has its mass
)

// newHarmonics prepares the series for times of at least minTime.
func newHarmonics(dim int, minTime float64) *harmonics {
	d := float64(dim)
	angles := make([]float64, heatNodes)
	h := &harmonics{weights: make([]float64, heatNodes)}
	quad.Legendre{}.FixedLocations(angles, h.weights, 0, math.Pi)
	cosines, previous, current := make([]float64, heatNodes), make([]float64, heatNodes), make([]float64, heatNodes)
	ratio := logVolume(dim-1) - logVolume(dim)
	for i, a := range angles {
		sin, cos := math.Sincos(a)
		h.weights[i] *= math.Exp(ratio + (d-1)*math.Log(sin))
		cosines[i], previous[i], current[i] = cos, 1, cos
	}
	size := math.Log(d + 1)
	if dim == 1 {
		size = math.Ln2
	}
	for l := 1.0; ; l++ {
		decay := l * (l + d - 1) / 2
		h.zonal, h.decay, h.logSize = append(h.zonal, current), append(h.decay, decay), append(h.logSize, size)
		if size/2-decay*minTime < heatFloor {
			break
		}
		next := make([]float64, heatNodes)
		for i, c := range cosines {
			next[i] = ((2*l+d-1)*c*current[i] - l*previous[i]) / (l + d - 1)
		}
		previous, current = current, next
		size += math.Log((2*l + d + 1) / (2*l + d - 1) * (l + d - 1) / (l + 1))
	}
	h.term = make([]float64, len(h.zonal))
	return h
}

// divergence integrates phi(f - 1) with phi(e) = (1+e) log(1+e) - e, which avoids cancellation where f is near 1. This
// is valid because f - 1 has mean 0.
func (h *harmonics) divergence(t float64) (kl, slope float64) {
	terms := 0
	for l, decay := range h.decay {
		h.term[l] = math.Exp(h.logSize[l] - decay*t)
		terms++
		if h.logSize[l]/2-decay*t < heatFloor-h.decay[0]*t {
			break
		}
	}
	for i, w := range h.weights {
		excess, rate := 0.0, 0.0
		for l, m := range h.term[:terms] {
			v := m * h.zonal[l][i]
			excess += v
			rate -= h.decay[l] * v
		}
		if excess <= -1 { // f is positive, but below the rounding error
			kl += w
			continue
		}
		log := math.Log1p(excess)
		kl += w * aboveTangent(excess, log)
		slope += w * rate * log
	}
	return kl, t * slope
}

// aboveTangent returns (1+e) log(1+e) - e from e and log(1+e).
func aboveTangent(e, log float64) float64 {
	if math.Abs(e) < 1e-3 {
		return e * e * (1./2 - e*(1./6-e*(1./12-e/20)))
	}
	return (1+e)*log - e
}
