package tables

import "fmt"

// black counts the runs whose decoder is black; see [train.Fit.Black].
func (d *drawn) black() (n int) {
	for _, f := range d.fits {
		if f != nil && f.Black() {
			n++
		}
	}
	return n
}

// discountBlack makes a cell that agrees with the printed one count as different for a known reason if it rests on runs whose decoder is black:
// what such a model has learned, it has not learned from images, as the paper's have.
func (c *Cell) discountBlack(d drawn) {
	if n := d.black(); n > 0 && c.Status.Reproduced() {
		c.Status, c.Reason = Known, fmt.Sprintf("its decoder is black in %d of %s, so that it does not count as reproduced", n, plural(len(d.fits), "run"))
	}
}
