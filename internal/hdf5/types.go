package hdf5

import (
	"errors"
	"fmt"
	"slices"

	"github.com/unravel-ml/unravel/internal/dtype"
)

var classes = []string{"integers", "floats", "times", "strings", "bit fields", "opaque bytes",
	"compound values (such as structures or complex numbers)",
	"references", "enumerations", "variable-length values", "arrays"}

const (
	integerClass  = 0
	floatClass    = 1
	enumClass     = 8
	variableClass = 9
)

func readType(r *cursor) (t dtype.Type, bigEndian bool, err error) {
	header := int(r.uint(1))
	class, version := header&15, header>>4
	flags, size := r.uint(3), r.int(4)
	switch {
	case r.err != nil:
	case class == integerClass:
		t, err = integerType(r, flags, size)
	case class == floatClass:
		t, err = floatType(r, flags, size)
	case class == enumClass:
		return enumType(r, int(flags&0xffff), version >= 3)
	case class == variableClass && flags&15 == 1:
		err = errors.New("holds variable-length strings")
	case class < len(classes):
		err = fmt.Errorf("holds %s", classes[class])
	default:
		err = fmt.Errorf("holds values of an unknown class %d", class)
	}
	if r.err != nil {
		return t, false, r.err
	}
	if err != nil {
		return t, false, fmt.Errorf("%w; want booleans, integers or floats", err)
	}
	return t, flags&1 != 0 && t.Size > 1, nil
}

func integerType(r *cursor, flags uint64, size int) (dtype.Type, error) {
	kind := byte('u')
	if flags&8 != 0 {
		kind = 'i'
	}
	offset, precision := r.int(2), r.int(2)
	t, ok := dtype.Find(kind, size)
	if r.err == nil && (!ok || offset != 0 || precision != 8*size) {
		return t, fmt.Errorf("holds integers of %d bits in %d bytes", precision, size)
	}
	return t, nil
}

// floatFields are offset, precision, and positions and sizes of exponent and mantissa of IEEE floats, by size in bytes.
var floatFields = map[int][]int{2: {0, 16, 10, 5, 0, 10}, 4: {0, 32, 23, 8, 0, 23}, 8: {0, 64, 52, 11, 0, 52}}

func floatType(r *cursor, flags uint64, size int) (dtype.Type, error) {
	fields := []int{r.int(2), r.int(2), r.int(1), r.int(1), r.int(1), r.int(1)}
	t, ok := dtype.Find('f', size)
	switch {
	case r.err != nil:
	case flags&0x40 != 0:
		return t, errors.New("holds VAX floats")
	case !ok || !slices.Equal(fields, floatFields[size]):
		return t, fmt.Errorf("holds floats of %d bits with %d bits of exponent", fields[1], fields[3])
	}
	return t, nil
}

// enumType reads an enumeration. It returns the underlying integer type. For the names that h5py uses for booleans, it
// returns a boolean type. Before version 3, the length of names is a multiple of 8 bytes.
func enumType(r *cursor, n int, packed bool) (dtype.Type, bool, error) {
	t, bigEndian, err := readType(r)
	if err != nil {
		return t, bigEndian, err
	}
	var names []string
	for range n {
		end := slices.Index(r.b, 0)
		if end < 0 {
			return t, false, errTruncated
		}
		length := end + 1
		if !packed {
			length = (length + 7) &^ 7
		}
		names = append(names, string(r.b[:end]))
		if r.skip(length); r.err != nil {
			return t, false, r.err
		}
	}
	if t.Size == 1 && slices.Equal(names, []string{"FALSE", "TRUE"}) {
		return dtype.Bool, false, nil
	}
	return t, bigEndian, nil
}
