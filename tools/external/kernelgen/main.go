// Command kernelgen writes the assembly of internal/kernel/simd with avo.
//
//	go run ./kernelgen -isa avx512 -out ../internal/kernel/simd/avx512_amd64.s -stubs ../internal/kernel/simd/avx512_amd64.go -pkg simd
//
// The flags -out, -stubs and -pkg belong to avo. With -dispatch it writes the functions that choose between the
// instruction sets, from the stubs in a folder:
//
//	go run ./kernelgen -dispatch ../internal/kernel/simd
package main

import (
	"flag"
	"fmt"
	"os"

	"github.com/mmcloughlin/avo/build"
)

func main() {
	name := flag.String("isa", "", "instruction set: avx512, avx2, bf16 or neon")
	folder := flag.String("dispatch", "", "`folder` with stubs, to write the functions that choose between instruction sets")
	flag.Parse()
	out, stubs := flag.Lookup("out").Value.String(), flag.Lookup("stubs").Value.String()
	build.ConstraintExpr("amd64")
	switch {
	case *folder != "":
		check(dispatch(*folder))
	case *name == "avx512":
		vectorFunctions(avx512)
		build.Generate()
		check(broadcast(out))
	case *name == "avx2":
		vectorFunctions(avx2)
		cpuid()
		build.Generate()
	case *name == "bf16":
		tiles(bf16)
		panels(bf16)
		pairKernels()
		build.Generate()
		check(broadcast(out))
		check(encodeBF16(out))
	case *name == "neon":
		vectorFunctions(neonISA)
		vectorFunctions(isa{neonISA.suffix, neonISA.lanes / 2})
		check(writeNEON(out, stubs))
	default:
		fmt.Fprintf(os.Stderr, "kernelgen: unknown -isa %q: want avx512, avx2, bf16 or neon\n", *name)
		os.Exit(2)
	}
}

func vectorFunctions(v isa) {
	if v.suffix != neonISA.suffix { // the NEON tile is written by hand, see tileNEON
		tiles(v)
		panels(v)
		copyRows(v)
	}
	vectors(v)
	if v == avx512 {
		transpose16(v)
	}
	winograd(v)
	products(v)
	winograd3(v)
	winograd4(v)
	pairs(v)
	pairs64(v)
	rowMoments(v)
	channels(v)
	mixture(v)
	activations(v)
}

func check(err error) {
	if err != nil {
		fmt.Fprintln(os.Stderr, "kernelgen:", err)
		os.Exit(1)
	}
}
