package metrics_test

import (
	"math"
	"testing"

	"github.com/unravel-ml/unravel/datasets/factor"
	"github.com/unravel-ml/unravel/graph/rng"
	. "github.com/unravel-ml/unravel/metrics"
)

// ragged returns rows that form no grid: repeated and missing combinations of three factors, unknown levels, and codes
// of two columns.
func ragged() *Input {
	in := &Input{Factors: ordinals(3, 2, 2)}
	s := rng.New(8, "ragged")
	for _, row := range [][]int{{0, 0, 0}, {0, 0, 0}, {0, 1, 0}, {1, 0, 1}, {1, 0, 0}, {1, 1, 1}, {2, 1, 0}, {2, 1, 1},
		{2, 1, factor.Unknown}, {0, 1, 1}, {1, 0, factor.Unknown}} {
		in.Levels = append(in.Levels, row...)
		in.Codes.Data = append(in.Codes.Data, float64(row[0])+0.4*s.NormFloat64(), float64(row[1])-0.5*float64(row[0])+0.3*s.NormFloat64())
		in.Codes.Rows++
	}
	in.Codes.Cols = 2
	return in
}

// drawn is a pair of rows with the same level of a factor.
type drawn struct{ factor, first, second int }

// pairChances returns the probability of every pair by the rule of the metrics. The rule draws a factor, then a row
// with a known level, then a row with the same level, each uniformly.
func pairChances(in *Input) map[drawn]float64 {
	k := len(in.Factors)
	chances := map[drawn]float64{}
	for j := range k {
		var known []int
		for i := range in.Codes.Rows {
			if in.Levels[i*k+j] >= 0 {
				known = append(known, i)
			}
		}
		for _, a := range known {
			var like []int
			for _, b := range known {
				if in.Levels[a*k+j] == in.Levels[b*k+j] {
					like = append(like, b)
				}
			}
			for _, b := range like {
				chances[drawn{j, a, b}] += 1 / float64(k) / float64(len(known)) / float64(len(like))
			}
		}
	}
	return chances
}

// TestFactorVAEByHand compares the score with its expectation over all pairs of rows.
func TestFactorVAEByHand(t *testing.T) {
	in := ragged()
	votes := [2][3]float64{} // by column and factor
	for pair, chance := range pairChances(in) {
		var least [2]float64
		for c := range least {
			d := in.Codes.Row(pair.first)[c] - in.Codes.Row(pair.second)[c]
			least[c] = d * d
		}
		column := 0
		if least[1] < least[0] {
			column = 1
		}
		votes[column][pair.factor] += chance
	}
	want := 0.0
	for _, row := range votes {
		want += max(row[0], row[1], row[2])
	}
	m := &FactorVAE{Batch: 2, Train: 400000, Test: 400000, Raw: true}
	r := evaluated(t, in, []Choice{{Name: "factor-vae", Value: m}})
	near(t, "factor-vae", r.Value, want, 5*math.Sqrt(0.25/400000))
	for c, row := range r.Grids[0].Values {
		for j, n := range row {
			near(t, "votes", n/400000, votes[c][j], 5*math.Sqrt(0.25/400000))
		}
	}
}

// TestBetaVAEByHand compares the score with the best classifier's score. With one pair per point and few distinct
// points, the logistic regression of many points cannot be better. Its mean accuracy on the train points follows from
// the probabilities of the points.
func TestBetaVAEByHand(t *testing.T) {
	in := ragged()
	for i := range in.Codes.Rows { // two distinct differences: 0 and 1
		l := in.Levels[3*i]
		in.Codes.Data[2*i], in.Codes.Data[2*i+1] = 0, 0
		if l == 1 {
			in.Codes.Data[2*i] = 1
		}
	}
	chances := [2][3]float64{} // by difference and factor
	for pair, chance := range pairChances(in) {
		d := int(math.Abs(in.Codes.Data[2*pair.first] - in.Codes.Data[2*pair.second]))
		chances[d][pair.factor] += chance
	}
	want := 0.0
	for _, row := range chances {
		want += max(row[0], row[1], row[2])
	}
	m := &BetaVAE{Batch: 1, Train: 200000, Test: 200000}
	r := evaluated(t, in, []Choice{{Name: "beta-vae", Value: m}})
	near(t, "beta-vae", r.Value, want, 5*math.Sqrt(0.25/200000))
}

// TestIRSByHand compares the score with its definition.
func TestIRSByHand(t *testing.T) {
	in := ragged()
	near(t, "irs", evaluated(t, in, []Choice{{Name: "irs", Value: &IRS{Quantile: 1}}}).Value, bruteIRS(in), 1e-12)
}

// TestTurningRows checks D_LSBD of perfect codes on rows that form no grid, some with unknown angles.
func TestTurningRows(t *testing.T) {
	s := rng.New(2, "turning")
	in := &Input{Factors: []factor.Factor{{Name: "angle", Size: 12, Kind: factor.Circular}, {Name: "hue", Size: 7, Kind: factor.Circular}}}
	for i := range 300 {
		a, b := s.IntN(12), s.IntN(7)
		x, y := in.Factors[0].Angle(a), in.Factors[1].Angle(b)
		in.Codes.Data = append(in.Codes.Data, math.Cos(x), math.Sin(x), 2*math.Cos(y), 2*math.Sin(y))
		if i%9 == 0 {
			a = factor.Unknown
		}
		in.Levels = append(in.Levels, a, b)
		in.Codes.Rows++
	}
	in.Codes.Cols = 4
	r := evaluated(t, in, []Choice{choice("dlsbd")})
	near(t, "dlsbd", r.Value, 0, 1e-10)
}
