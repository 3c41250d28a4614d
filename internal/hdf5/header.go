package hdf5

import (
	"bytes"
	"errors"
	"fmt"
)

// Kinds of messages in object headers.
const (
	dataspaceMessage    = 0x1
	linkInfoMessage     = 0x2
	datatypeMessage     = 0x3
	oldFillMessage      = 0x4
	fillMessage         = 0x5
	linkMessage         = 0x6
	externalMessage     = 0x7
	layoutMessage       = 0x8
	filterMessage       = 0xb
	attributeMessage    = 0xc
	continuationMessage = 0x10
	symbolTableMessage  = 0x11
)

type message struct {
	kind   uint16
	shared bool // data are the address of the message
	data   []byte
}

func (h *File) header(addr uint64) ([]message, error) {
	b, err := h.readUpTo(addr, 64)
	if err != nil {
		return nil, err
	}
	if bytes.HasPrefix(b, []byte("OHDR")) {
		return h.header2(addr, b)
	}
	if len(b) < 16 || b[0] != 1 {
		return nil, fmt.Errorf("there is no object header at %d: the file is damaged", addr)
	}
	return h.messages(addr+16, 0, uint64(le.Uint32(b[8:])), 8)
}

// messages reads the messages of an object header of version 1, with heads of 8 bytes, or of version 2, with shorter
// heads. The first block begins at an address, and has bytes to skip before its messages.
func (h *File) messages(addr uint64, skip int, n uint64, head int) (list []message, err error) {
	blocks, version1 := &headerBlocks{remaining: h.size}, head == 8
	err = blocks.add(addr, skip, n)
	magic := "OHDR"
	for i := 0; err == nil && i < len(blocks.list); i++ {
		var d []byte
		if b := blocks.list[i]; version1 {
			d, err = h.readAt(b.addr, b.size)
		} else {
			d, err = h.readChecked(b.addr, b.size, magic)
		}
		if err != nil {
			return nil, err
		}
		magic, d = "OCHK", d[blocks.list[i].skip:]
		for err == nil && len(d) >= head {
			m, size := message{kind: uint16(d[0]), shared: d[3]&2 != 0}, d[1:]
			if version1 {
				m, size = message{kind: le.Uint16(d), shared: d[4]&2 != 0}, d[2:]
			}
			n := head + int(le.Uint16(size))
			if n > len(d) {
				return nil, errTruncated
			}
			if m.data = d[head:n]; m.kind == continuationMessage && len(m.data) >= 16 {
				next, length := le.Uint64(m.data), le.Uint64(m.data[8:])
				switch {
				case version1:
					err = blocks.add(next, 0, length)
				case length < 8:
					err = errTruncated
				default:
					err = blocks.add(next, 4, length-4)
				}
			}
			list, d = append(list, m), d[n:]
		}
	}
	return list, err
}

// headerBlocks lists the blocks of an object header. The blocks do not overlap, so their total size is at most the size
// of the file.
type headerBlocks struct {
	list      []headerBlock
	remaining int64
}

type headerBlock struct {
	addr uint64
	skip int // bytes before the messages
	size int // size with the skipped bytes, without a checksum
}

func (l *headerBlocks) add(addr uint64, skip int, n uint64) error {
	if n < uint64(skip) || n > uint64(l.remaining) || len(l.list) > 1<<16 {
		return errors.New("an object header is longer than the file: the file is damaged")
	}
	l.remaining -= int64(n)
	l.list = append(l.list, headerBlock{addr, skip, int(n)})
	return nil
}

// header2 reads an object header of version 2, which starts with b.
func (h *File) header2(addr uint64, b []byte) ([]message, error) {
	r := &cursor{b: b}
	r.skip(5)
	flags := r.uint(1)
	if flags&0x20 != 0 {
		r.skip(16) // time stamps
	}
	if flags&0x10 != 0 {
		r.skip(4) // phase change of attribute storage
	}
	n := r.uint(1 << (flags & 3))
	if r.err != nil {
		return nil, r.err
	}
	start, head := len(b)-len(r.b), 4
	if flags&4 != 0 {
		head = 6 // with the creation order
	}
	if n > uint64(h.size) {
		return nil, errTruncated
	}
	return h.messages(addr, start, uint64(start)+n, head)
}

// resolveShared returns the content of a message. A shared message refers to a committed datatype with the content.
func (h *File) resolveShared(m message) ([]byte, error) {
	if !m.shared {
		return m.data, nil
	}
	r := &cursor{b: m.data}
	version, kind := r.uint(1), r.uint(1)
	switch {
	case version == 1:
		r.skip(6)
	case version == 3 && kind != 2:
		return nil, errors.New("messages in a heap for the whole file are not read")
	}
	addr := r.uint(8)
	if r.err != nil {
		return nil, r.err
	}
	list, err := h.header(addr)
	if err != nil {
		return nil, err
	}
	for _, candidate := range list {
		if candidate.kind == m.kind && !candidate.shared {
			return candidate.data, nil
		}
	}
	return nil, fmt.Errorf("there is no shared message at %d: the file is damaged", addr)
}
