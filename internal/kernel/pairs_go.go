package kernel

import "math"

// Go versions of the float32 assembly functions. Types without assembly use them too.

func pairSquaresGo[T Float](tile, x []T, lane, source, columns, stride, n, lanes int) {
	for k := range n {
		row := tile[k*PairLanes:][:lanes]
		clear(row)
		for c := range columns {
			a, s := x[c*stride+lane:][:lanes], x[c*stride+source+k]
			for i := range row {
				d := a[i] - s
				row[i] += d * d
			}
		}
	}
}

func pairWeightedGo[T Float](g, x, weights []T, lane, source, columns, stride, n, lanes int) {
	for c := range columns {
		to, a := g[c*stride+lane:][:lanes], x[c*stride+lane:][:lanes]
		for k := range n {
			w, s := weights[k*PairLanes:][:lanes], x[c*stride+source+k]
			for i := range to {
				to[i] += w[i] * (a[i] - s)
			}
		}
	}
}

func pairPremetricGo[T Float](tile, lanes, sources []T, m Premetric, square bool, n int) {
	for k := range n {
		row, s := tile[k*PairLanes:][:PairLanes], float64(sources[k])
		for i := range row {
			t := T(m.Distance(float64(lanes[i]), s))
			if square {
				t *= t
			}
			row[i] += t
		}
	}
}

func sqrt[T Float](x T) T { return T(math.Sqrt(float64(x))) }

func exp1[T Float](x T) T { return T(math.Exp(float64(x))) }

func pairRootsGo[T Float](tile []T) {
	for i, v := range tile {
		tile[i] = sqrt(v)
	}
}

func pairInverseRootsGo[T Float](tile []T) {
	for i, v := range tile {
		if v > 0 {
			tile[i] = 1 / sqrt(v)
		} else {
			tile[i] = 0
		}
	}
}

func pairSumRootsGo[T Float](lanes, tile []T, n int) {
	for k := range n {
		for i, v := range tile[k*PairLanes:][:PairLanes] {
			lanes[i] += sqrt(v)
		}
	}
}

func pairMaxGo[T Float](lanes, tile []T, n int) {
	for k := range n {
		for i, v := range tile[k*PairLanes:][:PairLanes] {
			lanes[i] = max(lanes[i], v)
		}
	}
}

func pairHingesGo[T Float](z, y []T) {
	for i, v := range z {
		z[i] = max(y[i]-sqrt(v), 0)
	}
}

func pairSumHingesGo[T Float](lanes, z, y []T, square bool, n int) {
	for k := range n {
		s, t := z[k*PairLanes:][:PairLanes], y[k*PairLanes:][:PairLanes]
		for i, v := range s {
			h := max(t[i]-sqrt(v), 0)
			if square {
				h *= h
			}
			lanes[i] += h
		}
	}
}

func pairHingeSlopesGo[T Float](z, y []T, square bool) {
	for i, v := range z {
		d := sqrt(v)
		h := y[i] - d
		z[i] = 0
		if h > 0 && v > 0 {
			z[i] = 1 / d
			if square {
				z[i] *= 2 * h
			}
		}
	}
}
