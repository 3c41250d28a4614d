package logic_test

import (
	"errors"
	"sync/atomic"
	"testing"

	"github.com/unravel-ml/unravel/graph/rng"
	"github.com/unravel-ml/unravel/internal/long"
	"github.com/unravel-ml/unravel/internal/must"
	"github.com/unravel-ml/unravel/losses/logic"
)

// sentencesOfLoops have one kind of loop or solver each.
var sentencesOfLoops = map[string]string{
	"rows":    `forall[sum] i: z.shape(i) =[absolute] 0`,
	"general": `forall[mean] i, j: z(i) =[absolute] z(j)`,
	"pairs":   `forall[mean] i, j: z(i) =[euclidean] z(j)`,
	"groups":  `forall[mean] v in y.shape: forall[max] i, j: y.shape(i) = v and y.shape(j) = v -> z(i) =[euclidean] z(j)`,
	"ball":    `forall[mean] v in y.shape: exists c in z.pair: forall[max] i: y.shape(i) = v -> z.pair(i) =[euclidean] c`,
	"median":  `forall[mean] v in y.shape: exists c in z.pair: forall[mean] i: y.shape(i) = v -> z.pair(i) =[euclidean] c`,
}

func drawnBatch(n int) logic.Batch {
	var b logic.Batch
	r := rng.New(5, "batch")
	for i := range n {
		row := make([]float64, 16)
		for k := range row {
			row[k] = r.NormFloat64()
		}
		level := float64(i % 40)
		b.Codes, b.Values, b.Labels = append(b.Codes, row), append(b.Values, []float64{level, 0}), append(b.Labels, []float64{level, 0})
	}
	return b
}

// An interrupt ends every kind of loop soon and returns its error. Without an interrupt, the value is unchanged.
func TestInterrupt(t *testing.T) {
	long.NotShort(t)
	b := drawnBatch(3000)
	for name, text := range sentencesOfLoops {
		t.Run(name, func(t *testing.T) {
			q := must.Get(logic.Compile(logic.Parsed(t, text), benchSchema()))(t)
			want := must.Get(q.ValueOf(b))(t)
			for _, until := range []int64{0, 1, 4, 1 << 40} {
				stop, asked := errors.New("enough"), atomic.Int64{}
				mine := b
				mine.Interrupt = func() error {
					if asked.Add(1) > until {
						return stop
					}
					return nil
				}
				v, err := q.ValueOf(mine)
				switch {
				case until == 1<<40 && (v != want || err != nil):
					t.Errorf("%v, %v; want %v", v, err, want)
				case until < 1<<40 && !errors.Is(err, stop):
					t.Errorf("after %d questions: %v, %v; want the interrupt's error", until, v, err)
				case until < 1<<40 && asked.Load() > until+20:
					t.Errorf("it is to end after %d questions, and asks %d times", until, asked.Load())
				}
			}
		})
	}
}

func TestTuples(t *testing.T) {
	schema := benchSchema()
	for text, want := range map[string]float64{
		`forall[sum] i: z.shape(i) =[absolute] 0`:                                       400,
		`forall[mean] i, j: z(i) =[absolute] z(j)`:                                      400 * 400 / 2,
		`forall[mean] i, j: z(i) - 0.5 * z(j) =[absolute] 0`:                            400 * 400,
		`forall[mean] i, j: y.shape(i) = y.shape(j) -> z.pair(i) =[absolute] z.pair(j)`: 400 * 10 / 2,
	} {
		q := must.Get(logic.Compile(logic.Parsed(t, text), schema))(t)
		must.Equal(t, must.Get(q.Tuples(drawnBatch(400)))(t), want, text, "tuples")
	}
	q := must.Get(logic.Compile(logic.Parsed(t, `forall[mean] i, j, k: z(i) - z(j) =[absolute] z(k)`), schema))(t)
	must.Equal(t, must.Get(q.Tuples(drawnBatch(1500)))(t), 1500*1500*1500, "tuples")
}
