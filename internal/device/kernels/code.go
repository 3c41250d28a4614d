//go:build gpu

package kernels

import "embed"

//go:embed *.spv
var files embed.FS

func code(name string) []byte {
	b, err := files.ReadFile(name + ".spv")
	if err != nil {
		panic(err) // a name in this package is wrong
	}
	return b
}
