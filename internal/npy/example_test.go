package npy_test

import (
	"bytes"
	"fmt"

	"github.com/unravel-ml/unravel/internal/npy"
)

func Example() {
	var file bytes.Buffer
	if err := npy.Write(&file, []int{2, 3}, []float32{1, 2, 3, 4, 5, 6}); err != nil {
		fmt.Println(err)
		return
	}
	r, err := npy.NewReader(&file, "codes.npy")
	if err != nil {
		fmt.Println(err)
		return
	}
	fmt.Println(r.DType, r.Shape)
	row := make([]float64, r.RowLen())
	for range r.Rows() {
		if err := npy.Read(r, row); err != nil {
			fmt.Println(err)
			return
		}
		fmt.Println(row)
	}
	// Output:
	// float32 [2 3]
	// [1 2 3]
	// [4 5 6]
}
