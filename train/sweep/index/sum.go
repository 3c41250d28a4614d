package index

import (
	"encoding/binary"
	"hash/crc32"
)

// sums computes checksums of the row of a run and its shared values, which detect flipped bits.
type sums struct {
	shared map[any]uint32 // by the pointer to a kind, names or a machine
	row    []byte         // buffer for the last row
}

// rowSum returns the checksum of a run's row. k and n are nil for a run without settings or results.
func (s *sums) rowSum(dir, facts, numbers []byte, folder int64, k *kind, n *names, m *machine) int64 {
	s.row = binary.LittleEndian.AppendUint64(s.row[:0], uint64(folder))
	for _, part := range []uint32{s.kind(k), s.names(n), s.machine(m)} {
		s.row = binary.LittleEndian.AppendUint32(s.row, part)
	}
	for _, text := range [][]byte{dir, facts, numbers} {
		s.row = append(append(s.row, text...), 0)
	}
	return int64(crc32.ChecksumIEEE(s.row))
}

func (s *sums) kind(k *kind) uint32 {
	if k == nil {
		return 0
	}
	return s.cached(k, func(b []byte) []byte {
		b = binary.LittleEndian.AppendUint32(b, s.names(k.names))
		for _, v := range k.values {
			b = append(append(b, v.Value()...), 0)
		}
		return b
	})
}

func (s *sums) names(n *names) uint32 {
	if n == nil {
		return 0
	}
	return s.cached(n, func(b []byte) []byte {
		for _, name := range n.list {
			b = append(append(b, name...), 0)
		}
		return b
	})
}

func (s *sums) machine(m *machine) uint32 {
	return s.cached(m, func(b []byte) []byte {
		for _, text := range []string{m.version, m.OS, m.Arch, m.Kernels, m.Go} {
			b = append(append(b, text...), 0)
		}
		b = binary.LittleEndian.AppendUint64(b, uint64(m.Cores))
		return binary.LittleEndian.AppendUint64(b, uint64(m.Threads))
	})
}

// cached returns the checksum of the bytes that a function appends. It calls the function only once per pointer.
func (s *sums) cached(pointer any, bytes func([]byte) []byte) uint32 {
	sum, ok := s.shared[pointer]
	if !ok {
		sum = crc32.ChecksumIEEE(bytes(nil))
		s.shared[pointer] = sum
	}
	return sum
}
