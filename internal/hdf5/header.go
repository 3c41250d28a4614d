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
	continuationMessage = 0x10
	symbolTableMessage  = 0x11
)

// message is one message of an object header.
type message struct {
	kind   uint16
	shared bool // data say where the message is
	data   []byte
}

// header reads all messages of an object.
func (h *File) header(addr uint64) ([]message, error) {
	b, err := h.upTo(addr, 64)
	if err != nil {
		return nil, err
	}
	if bytes.HasPrefix(b, []byte("OHDR")) {
		return h.header2(addr, b)
	}
	if len(b) < 16 || b[0] != 1 {
		return nil, fmt.Errorf("there is no object header at %d: the file is damaged", addr)
	}
	var list []message
	blocks := &headerBlocks{limit: h.size}
	err = blocks.add(addr+16, 0, uint64(le.Uint32(b[8:])))
	for i := 0; err == nil && i < len(blocks.list); i++ {
		var d []byte
		if d, err = h.at(blocks.list[i].at, blocks.list[i].n); err != nil {
			return nil, err
		}
		for err == nil && len(d) >= 8 {
			n := 8 + int(le.Uint16(d[2:]))
			if n > len(d) {
				return nil, errEarly
			}
			m := message{le.Uint16(d), d[4]&2 != 0, d[8:n]}
			if m.kind == continuationMessage && len(m.data) >= 16 {
				err = blocks.add(le.Uint64(m.data), 0, le.Uint64(m.data[8:]))
			}
			list, d = append(list, m), d[n:]
		}
	}
	return list, err
}

// headerBlocks lists the parts of an object header. The parts do not overlap, so their sum is bounded by the file's
// size.
type headerBlocks struct {
	list  []headerBlock
	limit int64
}

type headerBlock struct {
	at   uint64
	skip int // bytes before the messages
	n    int // with the skipped bytes, without a checksum
}

func (l *headerBlocks) add(at uint64, skip int, n uint64) error {
	if n < uint64(skip) || n > uint64(l.limit) || len(l.list) > 1<<16 {
		return errors.New("an object header is longer than the file: the file is damaged")
	}
	l.limit -= int64(n)
	l.list = append(l.list, headerBlock{at, skip, int(n)})
	return nil
}

// header2 reads an object header of version 2, which begins with b.
func (h *File) header2(addr uint64, b []byte) ([]message, error) {
	r := &cursor{b: b}
	r.skip(5)
	flags := r.uint(1)
	if flags&0x20 != 0 {
		r.skip(16) // times
	}
	if flags&0x10 != 0 {
		r.skip(4) // when attributes are stored elsewhere
	}
	n := r.uint(1 << (flags & 3))
	if r.err != nil {
		return nil, r.err
	}
	start, head := len(b)-len(r.b), 4
	if flags&4 != 0 {
		head = 6 // with the order of creation
	}
	var list []message
	blocks := &headerBlocks{limit: h.size}
	if n > uint64(h.size) {
		return nil, errEarly
	}
	err := blocks.add(addr, start, uint64(start)+n)
	magic := "OHDR"
	for i := 0; err == nil && i < len(blocks.list); i++ {
		var d []byte
		if d, err = h.checked(blocks.list[i].at, blocks.list[i].n, magic); err != nil {
			return nil, err
		}
		magic = "OCHK"
		d = d[blocks.list[i].skip:]
		for err == nil && len(d) >= head {
			n := head + int(le.Uint16(d[1:]))
			if n > len(d) {
				return nil, errEarly
			}
			m := message{uint16(d[0]), d[3]&2 != 0, d[head:n]}
			if size := uint64(0); m.kind == continuationMessage && len(m.data) >= 16 {
				if size = le.Uint64(m.data[8:]); size < 8 {
					return nil, errEarly
				}
				err = blocks.add(le.Uint64(m.data), 4, size-4)
			}
			list, d = append(list, m), d[n:]
		}
	}
	return list, err
}

// committed returns the content of a message. A shared message refers to a named type that holds the content.
func (h *File) committed(m message) ([]byte, error) {
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
	for _, other := range list {
		if other.kind == m.kind && !other.shared {
			return other.data, nil
		}
	}
	return nil, fmt.Errorf("there is no shared message at %d: the file is damaged", addr)
}
