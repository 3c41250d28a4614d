package predict

import (
	"cmp"
	"context"
	"fmt"
	"math"
	"slices"

	"github.com/unravel-ml/unravel/internal/kernel"
	"github.com/unravel-ml/unravel/internal/numeric"
	"github.com/unravel-ml/unravel/internal/parallel"
	"github.com/unravel-ml/unravel/metrics/matrix"
)

// Neighbours are the k nearest train rows of each test row, nearest first, equally near rows in table order.
type Neighbours struct {
	Rows   []int     // positions among the train rows
	Scores []float64 // cosine similarities, or -|x - y|^2/2 up to a constant factor
	Notes  []string
}

// Sizes of the blocks of a search.
const (
	trainBlock   = 512 // train rows at a time, so their scores stay in the cache
	roundingUnit = 1.0 / (1 << 24)
)

// Nearest finds the k nearest train rows of each test row, by cosine similarity or by Euclidean distance.
func Nearest(ctx context.Context, codes matrix.Matrix, train, test []int, k int, cosine bool) (*Neighbours, error) {
	d := codes.Cols
	s := &neighbourSearch{k: k, columns: d, train: codes.Take(train), test: codes.Take(test),
		constants:  make([]float64, len(train)),
		neighbours: Neighbours{Rows: make([]int, len(test)*k), Scores: make([]float64, len(test)*k)}}
	if cosine {
		s.neighbours.Notes = signNote(s.train, d)
		normaliseRows(s.train, d)
		normaliseRows(s.test, d)
		s.neighbours.Notes = append(s.neighbours.Notes, closeNote(s.train, d)...)
	} else {
		centreRows(s.train, s.test, d)
	}
	padded := (len(train) + trainBlock - 1) / trainBlock * trainBlock
	s.weights = make([]float32, padded*(d+1))
	for i := range train {
		row := s.train[i*d : (i+1)*d]
		square := numeric.Dot(row, row)
		s.size = max(s.size, math.Sqrt(square))
		if !cosine {
			s.constants[i] = -square / 2
		}
		weights := s.weights[i*(d+1) : (i+1)*(d+1)]
		for c, v := range row {
			weights[c] = float32(v)
		}
		weights[d] = float32(s.constants[i])
	}
	s.rows = kernel.NewRows(len(test), d)
	for i := range test {
		s.rows.Set(i, s.test[i*d:(i+1)*d])
	}
	return &s.neighbours, parallel.Each(ctx, s.rows.Blocks(), s.block)
}

// Vote returns the level with the most votes (Wu et al. 2018, section 3.4):
//
//	argmax_l sum_i w_i [levels_i = l],  w_i = exp(s_i/T)
//
// over the nearest train rows i with similarities s_i, nearest first. Among levels with equal votes the smallest wins.
// With T = 0 every row has one vote. sums must have room for all levels.
func Vote(levels []int, similarities []float64, temperature float64, sums []float64) int {
	clear(sums)
	for i, l := range levels {
		w := 1.0
		if temperature > 0 {
			w = math.Exp((similarities[i] - similarities[0]) / temperature) // at most 1, because only ratios matter
		}
		sums[l] += w
	}
	return slices.Index(sums, slices.Max(sums))
}

// neighbourSearch finds nearest neighbours. Scores are x.y + c_x. Single precision finds the candidates: a kernel
// multiplies blocks of test rows by blocks of train rows. Double precision decides cases that rounding could change.
type neighbourSearch struct {
	k, columns  int
	train, test []float64 // normalised by row, or centred and divided by one number
	constants   []float64 // c_x: 0, or -|x|^2/2
	size        float64   // maximum of |x|
	weights     []float32 // train rows, each with its constant, padded to a multiple of trainBlock rows
	rows        *kernel.Rows
	neighbours  Neighbours
}

// block finds the neighbours of a block of test rows.
func (s *neighbourSearch) block(block int) error {
	linear := kernel.NewLinear(s.rows, trainBlock)
	tile := make([]float32, linear.Outputs*kernel.PairLanes)
	first := block * kernel.PairLanes
	lists := make([]candidates, min(kernel.PairLanes, len(s.test)/s.columns-first))
	for lane := range lists {
		y := s.test[(first+lane)*s.columns : (first+lane+1)*s.columns]
		size := math.Sqrt(numeric.Dot(y, y))
		margin := 2 * (float64(s.columns) + 8) * roundingUnit * s.size * (size + s.size)
		lists[lane] = candidates{k: s.k, margin: float32(margin), minScore: float32(math.Inf(-1))}
	}
	train := len(s.constants)
	for start := 0; start < train; start += trainBlock {
		linear.Forward(tile, s.weights[start*(s.columns+1):], block)
		for i := range min(trainBlock, train-start) {
			scores := tile[i*kernel.PairLanes:]
			for lane := range lists {
				if l := &lists[lane]; scores[lane] >= l.minScore {
					l.add(start+i, scores[lane])
				}
			}
		}
	}
	for lane := range lists {
		s.selectNearest(first+lane, lists[lane].list)
	}
	return nil
}

// selectNearest selects the nearest candidates of a test row in double precision.
func (s *neighbourSearch) selectNearest(query int, list []candidate) {
	y := s.test[query*s.columns : (query+1)*s.columns]
	for i := range list {
		row := list[i].row
		list[i].exact = numeric.Dot(s.train[row*s.columns:(row+1)*s.columns], y) + s.constants[row]
	}
	slices.SortFunc(list, func(a, b candidate) int {
		return cmp.Or(cmp.Compare(b.exact, a.exact), cmp.Compare(a.row, b.row))
	})
	for i, c := range list[:s.k] {
		s.neighbours.Rows[query*s.k+i], s.neighbours.Scores[query*s.k+i] = c.row, c.exact
	}
}

// candidate is a train row that may be one of the nearest.
type candidate struct {
	row   int
	score float32
	exact float64
}

// candidates collects, for a test row, the train rows with the k best scores, and the rows whose scores differ from
// these by no more than rounding.
type candidates struct {
	k        int
	margin   float32 // bound for the rounding error of the neighbours' scores
	minScore float32 // score that a candidate needs
	list     []candidate
	full     int // length at which the list is pruned
}

func (l *candidates) add(row int, score float32) {
	l.list = append(l.list, candidate{row: row, score: score})
	if len(l.list) < max(l.full, 4*l.k) {
		return
	}
	slices.SortFunc(l.list, func(a,
		b candidate) int {
		return cmp.Or(cmp.Compare(b.score, a.score), cmp.Compare(a.row, b.row))
	})
	l.minScore = l.list[l.k-1].score - l.margin
	n := len(l.list)
	for l.list[n-1].score < l.minScore {
		n--
	}
	l.list, l.full = l.list[:n], 2*n
}

// normaliseRows divides each row by its length; rows of zeros stay.
func normaliseRows(x []float64, columns int) {
	for row := range slices.Chunk(x, columns) {
		scale := 0.0
		for _, v := range row {
			scale = max(scale, math.Abs(v))
		}
		if scale == 0 {
			continue
		}
		for c := range row {
			row[c] /= scale
		}
		length := math.Sqrt(numeric.Dot(row, row))
		for c := range row {
			row[c] /= length
		}
	}
}

// signNote returns a note if plus and minus do not tell the values of a single column apart.
func signNote(codes []float64, columns int) []string {
	if columns > 1 || len(codes) == 0 {
		return nil
	}
	values := slices.Compact(slices.Sorted(slices.Values(codes)))
	if len(values) == 1 || len(values) == 2 && values[0] < 0 && values[1] > 0 {
		return nil
	}
	return []string{"cosine sees only the sign of a single column; want metric: euclidean"}
}

// closeNote returns a note if unit vectors differ by so little that rounding orders their similarities.
func closeNote(units []float64, columns int) []string {
	largest := 0.0
	for i, v := range units {
		largest = max(largest, math.Abs(v-units[i%columns]))
	}
	if largest == 0 || largest > 1e-6 {
		return nil
	}
	return []string{fmt.Sprintf("the directions of the codes differ by at most %.1g, "+
		"so rounding decides which rows are near; want codes around 0", largest)}
}

// centreRows subtracts the means of the train rows and divides by the largest number, so squares do not overflow.
// Neither step changes which rows are nearest.
func centreRows(train, test []float64, columns int) {
	largest := 0.0
	for _, x := range [][]float64{train, test} {
		for _, v := range x {
			largest = max(largest, math.Abs(v))
		}
	}
	if largest == 0 {
		return
	}
	means := make([]float64, columns)
	for i := range train {
		train[i] /= largest
		means[i%columns] += train[i]
	}
	n := float64(len(train) / columns)
	for i := range train {
		train[i] -= means[i%columns] / n
	}
	for i := range test {
		test[i] = test[i]/largest - means[i%columns]/n
	}
}
