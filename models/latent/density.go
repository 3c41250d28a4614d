package latent

import "math"

// Embedded is implemented by spaces that are subsets of R^Width.
type Embedded interface {
	// Distance returns the distance of a point of R^Width from the space; 0 on it.
	Distance(point []float64) float64
}

// Densities is implemented by spaces with known densities of posterior and prior, in nats. Both densities refer to
// one measure, so KL(location, scale) is the mean of LogPosterior - LogPrior over points from the posterior.
type Densities interface {
	LogPosterior(location, scale, point []float64) float64
	LogPrior(point []float64) float64
}

// LogPosterior implements [Densities]: log N(z; mu, sigma^2).
func (e *Euclidean) LogPosterior(location, scale, point []float64) float64 {
	var sum float64
	for i, z := range point {
		sum += logNormal((z-location[i])/math.Exp(scale[i])) - scale[i]
	}
	return sum
}

// LogPrior implements [Densities]: log N(z; 0, 1).
func (e *Euclidean) LogPrior(point []float64) float64 {
	var sum float64
	for _, z := range point {
		sum += logNormal(z)
	}
	return sum
}

func logNormal(z float64) float64 { return -(z*z + math.Log(2*math.Pi)) / 2 }

func (s *Sphere) Distance(point []float64) float64 { return math.Abs(1 - norm(point)) }

// LogPrior implements [Densities]: densities are relative to the uniform distribution.
func (s *Sphere) LogPrior([]float64) float64 { return 0 }

// LogPosterior implements [Densities]: the logarithm of the heat kernel f_t at the angle theta between location and
// point. On the circle
//
//	f_t = sqrt(2 pi/t) sum_k exp(-(theta + 2 pi k)^2/(2t)).
//
// On S^d, let R_l be the Gegenbauer polynomials of index (d-1)/2 with R_l(1) = 1, and n_l the number of harmonics of
// degree l:
//
//	f_t = sum_l n_l exp(-l(l+d-1)t/2) R_l(cos theta).
//
// For t below 0.02/d it uses the expansion to first order in t.
func (s *Sphere) LogPosterior(location, scale, point []float64) float64 {
	t, d := math.Exp(scale[0]), float64(s.Dim)
	var cos float64
	for i, z := range point {
		cos += z * location[i]
	}
	cos = max(-1, min(1, cos/(norm(point)*norm(location))))
	theta := angleBetween(location, point)
	switch {
	case s.Dim == 1:
		return logWrapped(theta, t)
	case t < 0.02/d:
		curved := 0.0
		if theta > 1e-4 {
			curved = (d - 1) / 2 * math.Log(theta/math.Sin(theta))
		}
		return logVolume(d) - d/2*math.Log(2*math.Pi*t) - theta*theta/(2*t) + curved + t*d*(d-1)/12
	}
	return math.Log(zonal(cos, t, d))
}

// logWrapped returns the log density of a normal angle with variance t, relative to the uniform distribution.
func logWrapped(theta, t float64) float64 {
	if t > 40 {
		return 0
	}
	var sum float64
	reach := math.Ceil(2 * math.Sqrt(t))
	for k := -reach; k <= reach; k++ {
		x := theta + 2*math.Pi*k
		sum += math.Exp((theta*theta - x*x) / (2 * t))
	}
	return math.Log(2*math.Pi/t)/2 - theta*theta/(2*t) + math.Log(sum)
}

// zonal sums the series of the heat kernel of S^d, d > 1.
func zonal(cos, t, d float64) float64 {
	sum, before, now, count := 1.0, 1.0, cos, d+1
	for l := 1.0; ; l++ {
		term := count * math.Exp(-l*(l+d-1)*t/2)
		sum += term * now
		if term < 1e-16 && l > d {
			return sum
		}
		// (l+d-1) R_{l+1} = (2l+d-1) cos R_l - l R_{l-1}
		before, now = now, ((2*l+d-1)*cos*now-l*before)/(l+d-1)
		count *= (l + d - 1) / (l + 1) * (2*l + d + 1) / (2*l + d - 1)
	}
}

// logVolume returns log(2 pi^((d+1)/2) / Gamma((d+1)/2)), the logarithm of the volume of S^d.
func logVolume(d float64) float64 {
	g, _ := math.Lgamma((d + 1) / 2)
	return math.Ln2 + (d+1)/2*math.Log(math.Pi) - g
}

func norm(v []float64) float64 {
	var sum float64
	for _, x := range v {
		sum += x * x
	}
	return math.Sqrt(sum)
}

// angleBetween returns the angle between two vectors. It stays exact if the cosine rounds to 1.
func angleBetween(a, b []float64) float64 {
	na, nb := norm(a), norm(b)
	var less, more float64
	for i := range a {
		u, v := a[i]/na, b[i]/nb
		less, more = less+(u-v)*(u-v), more+(u+v)*(u+v)
	}
	return 2 * math.Atan2(math.Sqrt(less), math.Sqrt(more))
}
