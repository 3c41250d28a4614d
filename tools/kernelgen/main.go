// Command kernelgen writes the assembly of internal/kernel with avo.
//
//	go run ./kernelgen -isa avx512 -out ../internal/kernel/avx512_amd64.s -stubs ../internal/kernel/avx512_amd64.go -pkg kernel
//
// The flags -out, -stubs and -pkg are avo's own. With -dispatch it writes the functions that choose between the
// instruction sets, from the stubs in a folder:
//
//	go run ./kernelgen -dispatch ../internal/kernel
package main

import (
	"flag"
	"fmt"
	"os"

	"github.com/mmcloughlin/avo/build"
)

func main() {
	name := flag.String("isa", "", "instruction set: avx512, avx2 or bf16")
	folder := flag.String("dispatch", "", "`folder` with stubs, to write the functions that choose between instruction sets")
	flag.Parse()
	if *folder != "" {
		if err := dispatch(*folder); err != nil {
			fmt.Fprintln(os.Stderr, "kernelgen:", err)
			os.Exit(1)
		}
		return
	}
	v, ok := map[string]isa{"avx512": avx512, "avx2": avx2, "bf16": bf16}[*name]
	if !ok {
		fmt.Fprintf(os.Stderr, "kernelgen: unknown -isa %q: want avx512, avx2 or bf16\n", *name)
		os.Exit(2)
	}
	build.ConstraintExpr("amd64")
	tiles(v)
	if v == bf16 {
		pairKernels()
		build.Generate()
		rewrite(broadcast, encodeBF16)
		return
	}
	vectors(v)
	winograd(v)
	winograd3(v)
	pairs(v)
	pairs64(v)
	rowMoments(v)
	channels(v)
	mixture(v)
	activations(v)
	build.Generate()
	if v == avx512 {
		rewrite(broadcast)
	}
}

// rewrite passes over the generated file.
func rewrite(passes ...func(path string) error) {
	for _, pass := range passes {
		if err := pass(flag.Lookup("out").Value.String()); err != nil {
			fmt.Fprintln(os.Stderr, "kernelgen:", err)
			os.Exit(1)
		}
	}
}
