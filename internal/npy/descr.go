package npy

import (
	"fmt"
	"strconv"

	"github.com/unravel-ml/unravel/internal/dtype"
)

// parseDescr parses a type such as <f4 or |u1.
func parseDescr(descr string) (dt dtype.Type, bigEndian bool, err error) {
	if len(descr) >= 2 {
		switch descr[0] {
		case '<', '|', '=', '>':
			bigEndian = descr[0] == '>'
			if size, err := strconv.Atoi(descr[2:]); err == nil && descr[2] != '0' && descr[2] != '+' {
				if dt, ok := dtype.Find(descr[1], size); ok {
					return dt, bigEndian && dt.Size > 1, nil
				}
			}
			if descr[1] == 'U' || descr[1] == 'S' {
				return dt, false, fmt.Errorf("an array of text (%s), which is not read; want numbers, such as np.unique(a, return_inverse=True)[1], or text in a .csv file", descr)
			}
			if descr[1] == 'O' {
				return dt, false, fmt.Errorf("an array of Python objects (%s), which is not read; want booleans, integers or floats", descr)
			}
		}
	}
	return dt, false, fmt.Errorf("element type %q is not read; want booleans, integers or floats of at most 64 bits",
		descr)
}
