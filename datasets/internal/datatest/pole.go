package datatest

import (
	"fmt"
	"strings"
	"testing"

	"github.com/unravel-ml/unravel/datasets"
)

// Pole returns a mesh in the OFF format: a box that is ten times as long along an axis as along the other axes.
func Pole(axis int) string {
	var b strings.Builder
	b.WriteString("OFF\n8 12 0\n")
	for corner := range 8 {
		p := [3]int{corner & 1, corner >> 1 & 1, corner >> 2}
		p[axis] *= 10
		fmt.Fprintln(&b, p[0], p[1], p[2])
	}
	for a := range 3 {
		u, v := 1<<((a+1)%3), 1<<((a+2)%3)
		fmt.Fprintf(&b, "3 0 %d %d\n3 0 %d %d\n", u+v, u, v, u+v) // clockwise from above: the face at 0
		up := 1 << a
		fmt.Fprintf(&b, "3 %d %d %d\n3 %d %d %d\n", up, up+u, up+u+v, up, up+u+v, up+v)
	}
	return b.String()
}

// CheckUpright fails the test if an image of a set shows something on black that is wider than it is high.
func CheckUpright(t *testing.T, d datasets.Dataset) {
	t.Helper()
	h, w, c := d.ImageShape()
	pixels := make([]float32, h*w*c)
	for i := range d.Len() {
		d.Image(i, pixels)
		rows, columns := make([]bool, h), make([]bool, w)
		for p, v := range pixels {
			if v > 0 {
				rows[p/(w*c)], columns[p/c%w] = true, true
			}
		}
		if high, wide := count(rows), count(columns); high < 2*wide {
			t.Errorf("image %d shows %d pixels by %d; want something upright", i, wide, high)
		}
	}
}

func count(list []bool) (n int) {
	for _, x := range list {
		if x {
			n++
		}
	}
	return n
}
