package search

import (
	"cmp"
	"errors"
	"math"
	"math/rand/v2"
	"slices"

	"github.com/unravel-ml/unravel/internal/numeric"
)

// TPE is the tree-structured Parzen estimator. It splits the n ended trials into the best ceil(n/10), at most 25, and
// the others. For each setting it fits two Parzen estimators: l(x) to the best trials and g(x) to the others. It draws
// Candidates values from l and takes the value with the largest l(x)/g(x), which has the largest expected improvement
// (equation 4.2 of the source). Settings are independent: each has separate estimators.
//
// A failed trial counts as the worst. A trial that has not ended counts as one of the others. This keeps several
// processes from trying the same values (a constant liar that says "worst"). The first Startup trials are random.
//
// The estimator of numbers is a mixture of normal distributions, truncated to the range. It has one component per
// trial, and a prior component around the middle of the range with the range's width as standard deviation. The
// standard deviation of a component is the larger distance to its neighbours, but at least the range's width over
// min(100, 2 + trials). The 25 newest trials have weight 1, and older trials less, down to 1/trials (both as in
// Optuna). In logarithmic ranges, all this applies to logarithms. An integer has the probability of the interval that
// rounds to it. The estimator of a choice mixes one distribution per trial with a uniform distribution. The
// distribution of a trial gives the weight 1/(1 + trials) to every value, plus 1 to the value of the trial.
//
// Source: Bergstra et al., "Algorithms for Hyper-Parameter Optimization", NeurIPS 2011, section 4; the variant of
// Optuna 4 (Akiba et al. 2019) with independent settings.
type TPE struct {
	Settings

	Startup    int `yaml:"startup" doc:"number of random trials at the start"`
	Candidates int `yaml:"candidates" doc:"values to draw for each setting; the best value is used"`
}

// NewTPE returns the default settings.
func NewTPE() *TPE { return &TPE{Startup: 10, Candidates: 24} }

// Validate checks the settings.
func (t *TPE) Validate() error {
	return errors.Join(atLeast("startup", t.Startup, 1), atLeast("candidates", t.Candidates, 1))
}

// Rungs returns nil.
func (*TPE) Rungs() []int { return nil }

// Constants of Optuna's variant.
const (
	goodFraction     = 0.1 // fraction of the trials that are the best ones
	maxGood          = 25
	fullWeightTrials = 25 // number of newest trials with weight 1
)

const maxProposals = 20 // maximum number of proposals to find a new point. After that, TPE draws a random point.

// Next proposes a point.
func (t *TPE) Next(trials []Trial, fresh bool) (Step, bool) {
	good, others := splitByLoss(trials)
	if !fresh || len(trials) < t.Startup || len(good) == 0 {
		return t.randomStep(trials, fresh)
	}
	random := stream(t.Seed, len(trials), 1)
	for range maxProposals {
		p := make(Point, len(t.Space))
		for i, r := range t.Space {
			p[i] = t.propose(r, values(good, i), values(others, i), random)
		}
		if !isRepeated(trials, p) {
			return Step{Trial: len(trials), Point: p}, true
		}
	}
	return t.randomStep(trials, fresh)
}

// splitByLoss returns the best trials, and the other trials, including unfinished ones. Both keep the order of trials.
func splitByLoss(trials []Trial) (good, others []Trial) {
	var order []int
	for i, t := range trials {
		if t.ended() {
			order = append(order, i)
		}
	}
	slices.SortStableFunc(order, func(a, b int) int { return cmp.Compare(trials[a].loss(), trials[b].loss()) })
	best := map[int]bool{}
	for _, i := range order[:min(maxGood, int(math.Ceil(goodFraction*float64(len(order)))))] {
		best[i] = !math.IsInf(trials[i].loss(), 1)
	}
	for i, t := range trials {
		if best[i] {
			good = append(good, t)
		} else {
			others = append(others, t)
		}
	}
	return good, others
}

func values(trials []Trial, i int) (list []float64) {
	for _, t := range trials {
		list = append(list, t.Point[i])
	}
	return list
}

// propose returns the candidate from the best trials' estimator with the largest ratio of densities.
func (t *TPE) propose(r Range, good, others []float64, random *rand.Rand) (best float64) {
	l, g := estimate(r, good), estimate(r, others)
	most := math.Inf(-1)
	for range t.Candidates {
		x := l.draw(random)
		if ratio := l.logDensity(x) - g.logDensity(x); ratio > most {
			best, most = x, ratio
		}
	}
	return best
}

// estimator is a probability distribution over the values of a range.
type estimator interface {
	draw(random *rand.Rand) float64
	logDensity(x float64) float64 // up to a constant for the range
}

func estimate(r Range, observed []float64) estimator {
	if r.Kind == Choice {
		return newCategorical(r, observed)
	}
	return newParzen(r, observed)
}

// weights returns the weights of n trials, in order, followed by the weight of the prior. They sum to 1.
func weights(n int) []float64 {
	list, sum := make([]float64, n+1), 0.0
	for i := range list {
		list[i] = 1
		if old := n - fullWeightTrials; i < old {
			list[i] = 1 / float64(n)
			if old > 1 {
				list[i] += (1 - 1/float64(n)) * float64(i) / float64(old-1)
			}
		}
		sum += list[i]
	}
	for i := range list {
		list[i] /= sum
	}
	return list
}

// pick draws an index with probabilities weights.
func pick(weights []float64, random *rand.Rand) int {
	u := random.Float64()
	for i, w := range weights {
		if u -= w; u < 0 {
			return i
		}
	}
	return len(weights) - 1
}

type categorical struct{ p []float64 } // estimator of a choice

func newCategorical(r Range, observed []float64) *categorical {
	c := &categorical{make([]float64, len(r.Values))}
	w, prior := weights(len(observed)), 1/float64(len(observed)+1)
	all := 1 + prior*float64(len(r.Values))
	for k, weight := range w {
		for v := range c.p {
			if k == len(observed) {
				c.p[v] += weight / float64(len(c.p))
				continue
			}
			mass := prior
			if float64(v) == observed[k] {
				mass++
			}
			c.p[v] += weight * mass / all
		}
	}
	return c
}

func (c *categorical) draw(random *rand.Rand) float64 { return float64(pick(c.p, random)) }

func (c *categorical) logDensity(x float64) float64 { return math.Log(c.p[int(x)]) }

// parzen is the estimator of a range of numbers: a mixture of truncated normal distributions.
type parzen struct {
	r          Range
	low, high  float64
	mean, wide []float64
	weight     []float64 // weights of the components
	height     []float64 // weights divided by the probabilities that the components are inside the interval
}

func newParzen(r Range, observed []float64) *parzen {
	p := &parzen{r: r, weight: weights(len(observed))}
	p.low, p.high = r.interval()
	for _, v := range observed {
		p.mean = append(p.mean, r.scale(v))
	}
	p.mean = append(p.mean, (p.low+p.high)/2)
	p.wide = widths(p.mean, p.low, p.high)
	for k, m := range p.mean {
		p.height = append(p.height, p.weight[k]/normalProbability((p.low-m)/p.wide[k], (p.high-m)/p.wide[k]))
	}
	return p
}

// widths returns the standard deviations of the components; the last component is the prior.
func widths(mean []float64, low, high float64) []float64 {
	n := len(mean)
	order := numeric.UpTo(n)
	slices.SortStableFunc(order, func(a, b int) int { return cmp.Compare(mean[a], mean[b]) })
	wide, least := make([]float64, n), (high-low)/min(100, float64(1+n))
	for place, i := range order {
		left, right := mean[i]-low, high-mean[i]
		if place > 0 {
			left = mean[i] - mean[order[place-1]]
		}
		if place < n-1 {
			right = mean[order[place+1]] - mean[i]
		}
		switch {
		case n > 1 && place == 0: // the ends of the range are not neighbours
			left = right
		case n > 1 && place == n-1:
			right = left
		}
		wide[i] = min(max(left, right, least), high-low)
	}
	wide[n-1] = high - low
	return wide
}

func (p *parzen) draw(random *rand.Rand) float64 {
	k := pick(p.weight, random)
	for {
		if x := p.mean[k] + p.wide[k]*random.NormFloat64(); p.low <= x && x <= p.high { // always ends, because the mean is inside
			return p.r.value(x)
		}
	}
}

func (p *parzen) logDensity(v float64) float64 {
	at, sum := p.r.scale(v), 0.0
	for k, m := range p.mean {
		density := math.Exp(-(at-m)*(at-m)/(2*p.wide[k]*p.wide[k])) / p.wide[k]
		if p.r.whole() {
			density = normalProbability((p.r.scale(v-0.5)-m)/p.wide[k], (p.r.scale(v+0.5)-m)/p.wide[k])
		}
		sum += p.height[k] * density
	}
	return math.Log(max(sum, math.SmallestNonzeroFloat64))
}

// normalProbability returns the probability that a standard normal variable is between a and b.
func normalProbability(a, b float64) float64 {
	if a > 0 { // the left tail has the same probability, and loses no digits
		a, b = -b, -a
	}
	return (math.Erfc(-b/math.Sqrt2) - math.Erfc(-a/math.Sqrt2)) / 2
}
