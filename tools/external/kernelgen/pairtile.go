package main

import (
	"strings"

	. "github.com/mmcloughlin/avo/build"
	. "github.com/mmcloughlin/avo/operand"
	. "github.com/mmcloughlin/avo/reg"
)

// folds writes a fold, such as a sum or a maximum, of the n rows of tiles for each of 64 lanes.
func folds(v isa, name, doc string, arrays string, step func(at func(string) Mem, acc VecVirtual)) {
	rows(v, name, doc, arrays, "", true, step)
}

// rows writes a loop over the n rows of tiles. All rows share the fixed arrays of 64 lanes and, if the loop folds, an
// accumulator for each lane.
func rows(v isa, name, doc string, arrays, fixed string, fold bool, step func(at func(string) Mem, acc VecVirtual)) {
	accumulators := ""
	if fold {
		accumulators = "lanes, "
	}
	begin(name+v.suffix, "func("+accumulators+arrays+fixed+" *float32, n int)",
		doc+" of n rows of 64 lanes, lane by lane.")
	for first := 0; first < tileBytes; first += 4 * v.bytes() { // 4 vectors at a time
		label := "loop" + hex(uint32(first))
		pointers := pointersTo(arrays + fixed)
		n := argument("n")
		var lanes Register
		var acc [4]VecVirtual
		if fold {
			lanes = argument("lanes")
			for j := range acc {
				acc[j] = v.virtual()
				VMOVUPS(Mem{Base: lanes, Disp: first + j*v.bytes()}, acc[j])
			}
		}
		Label(label)
		for j, r := range acc {
			step(func(a string) Mem { return Mem{Base: pointers[a], Disp: first + j*v.bytes()} }, r)
		}
		for a := range strings.SplitSeq(arrays, ", ") {
			ADDQ(U32(tileBytes), pointers[a])
		}
		DECQ(n)
		JNZ(LabelRef(label))
		for j, r := range acc {
			if fold {
				VMOVUPS(r, Mem{Base: lanes, Disp: first + j*v.bytes()})
			}
		}
	}
	end()
}

// roots returns the square roots of numbers and, if asked, their inverses. Both are 0 for numbers below the normal
// numbers. Goldschmidt's iteration from an estimate is several times as fast as the instructions for roots and
// quotients. Its last step rounds to the nearest number, so the root of a square is exact.
func roots(v isa, at Mem, invert bool) (root, inverse VecVirtual) {
	x, half, g, h, r := v.virtual(), v.virtual(), v.virtual(), v.virtual(), v.virtual()
	VMOVUPS(at, x)
	VMOVUPS(constant(0.5), half)
	if v.lanes == 16 {
		VRSQRT14PS(x, h)
	} else {
		VRSQRTPS(x, h)
	}
	VMULPS(x, h, g) // near sqrt x
	VMULPS(half, h, h)
	steps := 1
	if v.lanes < 16 && invert { // the estimate has 12 bits, not 14
		steps = 2
	}
	for range steps {
		VMOVAPS(half, r)
		VFNMADD231PS(g, h, r)
		VFMADD231PS(g, r, g)
		VFMADD231PS(h, r, h) // near 1/(2 sqrt x)
	}
	VMOVAPS(x, r)
	VFNMADD231PS(g, g, r)
	VFMADD231PS(h, r, g)
	VADDPS(h, h, h)
	// not below the normal numbers, or NaN
	if v.lanes == 16 {
		k := K()
		VCMPPS(Imm(21), constant(1.17549435e-38), x, k)
		VMOVAPS_Z(g, k, g)
		if invert {
			VMOVAPS_Z(h, k, h)
		}
		return g, h
	}
	mask := v.virtual()
	VCMPPS(Imm(21), constant(1.17549435e-38), x, mask)
	VANDPS(mask, g, g)
	if invert {
		VANDPS(mask, h, h)
	}
	return g, h
}

// hinges writes the functions of h = max(y - sqrt z, 0).
func hinges(v isa) {
	hinge := func(at func(string) Mem) VecVirtual {
		root, _ := roots(v, at("z"), false)
		h, zero := v.virtual(), v.virtual()
		VMOVUPS(at("y"), h)
		VSUBPS(root, h, h)
		v.zero(zero)
		VMAXPS(h, zero, h) // this order keeps NaN
		return h
	}
	function(v, "pairHinges", "z = max(y - sqrt z, 0)", "z, y", func(at func(string) Mem) {
		VMOVUPS(hinge(at), at("z"))
	})
	folds(v, "pairSumHinges", "adds max(y - sqrt z, 0)", "z, y", func(at func(string) Mem, acc VecVirtual) {
		VADDPS(hinge(at), acc, acc)
	})
	folds(v, "pairSumSquaredHinges", "adds max(y - sqrt z, 0)^2", "z, y", func(at func(string) Mem, acc VecVirtual) {
		h := hinge(at)
		VFMADD231PS(h, h, acc)
	})
	slope := func(name, doc string, times func(h, w VecVirtual)) {
		function(v, name, doc, "z, y", func(at func(string) Mem) {
			root, w := roots(v, at("z"), true)
			h := v.virtual()
			VMOVUPS(at("y"), h)
			VSUBPS(root, h, h)
			times(h, w)
			VMOVUPS(selectPositive(v, h, w, nil), at("z"))
		})
	}
	slope("pairHingeSlopes", "z = 1/sqrt z where z and h = y - sqrt z are positive, else 0,", func(_, _ VecVirtual) {})
	slope("pairSquaredHingeSlopes", "z = 2h/sqrt z where z and h = y - sqrt z are positive, else 0,", func(h, w VecVirtual) {
		VMULPS(h, w, w)
		VADDPS(w, w, w)
	})
}
