package kernel

// The functions of this file choose between functions on tiles of pairs; the level is not Go.

func pairPremetric(dst, x, s *float32, n int, c [3]float32, square bool) {
	if square {
		pairPremetricSquareVector(dst, x, s, n, &c)
	} else {
		pairPremetricSumVector(dst, x, s, n, &c)
	}
}

func pairSumHinges(lanes, z, y *float32, square bool, n int) {
	if square {
		pairSumSquaredHingesVector(lanes, z, y, n)
	} else {
		pairSumHingesVector(lanes, z, y, n)
	}
}

func pairHingeSlopes(z, y *float32, square bool, n int) {
	if square {
		pairSquaredHingeSlopesVector(z, y, n)
	} else {
		pairHingeSlopesVector(z, y, n)
	}
}
