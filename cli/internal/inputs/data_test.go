package inputs

import "testing"

// The error of other rows says what is likely wrong.
func TestOtherRows(t *testing.T) {
	for want, c := range map[string]struct{ n, d, m, k int }{
		"y.npy: factors have shape [40 2], want [39, k], a row for each row of z.npy":                                            {39, 3, 40, 2},
		"y.npy: factors have shape [40 2], want [3, k], a row for each row of z.npy; z.npy has shape [3 40]: want it transposed": {3, 40, 40, 2},
		"z.npy: codes have shape [0 3]; want a row for each image":                                                               {0, 3, 40, 2},
	} {
		if got := OtherRows("z.npy", c.n, c.d, "y.npy", c.m, c.k).Error(); got != want {
			t.Errorf("%q, want %q", got, want)
		}
	}
}
