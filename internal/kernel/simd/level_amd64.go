package simd

import (
	"encoding/binary"
	"strings"

	"golang.org/x/sys/cpu"
)

// architecture lists the levels of this architecture in ascending order.
var architecture = []Level{Go, AVX2, AVX512}

func Available() []Level {
	x := cpu.X86
	switch {
	case x.HasAVX512F && x.HasAVX512DQ && x.HasAVX512VL && x.HasAVX512BW && x.HasFMA:
		return architecture
	case x.HasAVX2 && x.HasFMA:
		return architecture[:2]
	}
	return architecture[:1]
}

// identify asks the processor with CPUID: leaves 0 and 1 for its name, and leaf 4 or AMD's 8000001D for its caches.
func identify() CPU {
	most, b, c, d := cpuid(0, 0)
	var name []byte
	for _, part := range []uint32{b, d, c} {
		name = binary.LittleEndian.AppendUint32(name, part)
	}
	p := CPU{Vendor: strings.TrimSpace(string(name))}
	signature, _, _, _ := cpuid(1, 0)
	p.Family, p.Model = family(signature)
	leaf := uint32(4)
	if p.Vendor == "AuthenticAMD" || p.Vendor == "HygonGenuine" {
		leaf = 0x8000001d
		most, _, _, _ = cpuid(0x80000000, 0)
	}
	if most < leaf {
		return p
	}
	for i := range uint32(8) {
		kind, ways, sets, _ := cpuid(leaf, i)
		if kind&31 == 0 {
			break
		}
		p.add(kind, ways, sets)
	}
	return p
}

// family returns family and model of a signature, both with their extensions.
func family(signature uint32) (family, model int) {
	family, model = int(signature>>8&15), int(signature>>4&15)
	if family == 6 || family == 15 {
		model += int(signature >> 16 & 15 << 4)
	}
	if family == 15 {
		family += int(signature >> 20 & 255)
	}
	return family, model
}

// add adds a cache from registers of its CPUID leaf: eax (kind), ebx (ways) and ecx (sets).
func (p *CPU) add(kind, ways, sets uint32) {
	if kind&31 == 2 { // instructions
		return
	}
	size := (int(ways>>22) + 1) * (int(ways>>12&1023) + 1) * (int(ways&4095) + 1) * (int(sets) + 1)
	switch kind >> 5 & 7 {
	case 1:
		p.L1 = size
	case 2:
		p.L2 = size
	case 3:
		p.L3 = size
	}
}
