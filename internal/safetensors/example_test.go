package safetensors_test

import (
	"fmt"

	"github.com/unravel-ml/unravel/internal/safetensors"
)

func Example() {
	data, err := safetensors.Encode(&safetensors.File{
		Metadata: map[string]string{"epoch": "3"},
		Tensors:  []safetensors.Tensor{{Name: "dense/weights", Shape: []int{2, 2}, Data: []float32{1, 2, 3, 4}}},
	})
	if err != nil {
		fmt.Println(err)
		return
	}
	f, err := safetensors.Decode(data)
	if err != nil {
		fmt.Println(err)
		return
	}
	w, err := f.Float32s("dense/weights", 2, 2)
	fmt.Println(f.Metadata["epoch"], w, err)

	data[len(data)-1] ^= 1
	_, err = safetensors.Decode(data)
	fmt.Println(err)
	// Output:
	// 3 [1 2 3 4] <nil>
	// damaged: the content does not match the checksum
}
