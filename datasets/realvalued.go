package datasets

// RealValued reports whether the images of a data set hold arbitrary real numbers instead of pixels in [0, 1]. Models
// of such images have decoders without a final sigmoid. A data set declares this with a method RealValued() bool.
func RealValued(d Dataset) bool {
	r, ok := d.(interface{ RealValued() bool })
	return ok && r.RealValued()
}

// RealValued implements the function RealValued: sticks reach from about -1 to 1.
func (d *chopsticks) RealValued() bool { return true }
