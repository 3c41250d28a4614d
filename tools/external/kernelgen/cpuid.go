package main

import (
	. "github.com/mmcloughlin/avo/build"
	. "github.com/mmcloughlin/avo/reg"
)

// cpuid writes the function that executes CPUID.
func cpuid() {
	TEXT("cpuid", NOSPLIT, "func(leaf, index uint32) (eax, ebx, ecx, edx uint32)")
	Doc("cpuid returns a leaf of the processor's description of itself.")
	Load(Param("leaf"), EAX)
	Load(Param("index"), ECX)
	CPUID()
	Store(EAX, Return("eax"))
	Store(EBX, Return("ebx"))
	Store(ECX, Return("ecx"))
	Store(EDX, Return("edx"))
	RET()
}
