package predict

import (
	"math"
	"math/rand/v2"
	"testing"
)

// The area equals the count over all pairs, also for equal, close and distant scores.
func FuzzROCArea(f *testing.F) {
	for seed := range uint64(40) {
		f.Add(seed, uint8(seed), uint8(seed/8))
	}
	f.Fuzz(func(t *testing.T, seed uint64, size, kind uint8) {
		r := rand.New(rand.NewPCG(seed, 1))
		n := 2 + 5*int(size)
		scores, labels := make([]float64, n), make([]int, n)
		for i := range scores {
			labels[i] = r.IntN(2)
			switch kind % 5 {
			case 0:
				scores[i] = r.Float64()
			case 1:
				scores[i] = float64(r.IntN(4)) / 4
			case 2:
				scores[i] = math.Exp(-300 * r.Float64())
			case 3:
				scores[i] = 1 - 1e-15*float64(r.IntN(40))
			case 4:
				scores[i] = float64(r.IntN(2)) * math.SmallestNonzeroFloat64
			}
		}
		var wins, pairs float64
		for i, a := range labels {
			for j, b := range labels {
				if a == 1 && b == 0 {
					pairs++
					switch {
					case scores[i] > scores[j]:
						wins++
					case scores[i] == scores[j]:
						wins += 0.5
					}
				}
			}
		}
		got := rocArea(scores, labels, 1)
		if pairs == 0 {
			if !math.IsNaN(got) {
				t.Errorf("labels %v: %v", labels, got)
			}
			return
		}
		if want := wins / pairs; !(math.Abs(got-want) <= 1e-12) {
			t.Errorf("area %v, want %v", got, want)
		}
	})
}
