package hdf5

import (
	"bytes"
	"errors"
	"fmt"
	"io/fs"
	"maps"
	"slices"
	"strings"
)

type member struct {
	addr       uint64
	linkPath   string // path of a soft link, instead of an address
	unreadable string // why the member cannot be opened
}

// members returns the members of a group, and none for an array.
func (h *File) members(addr uint64) (map[string]member, error) {
	messages, err := h.header(addr)
	if err != nil {
		return nil, err
	}
	list := map[string]member{}
	for _, m := range messages {
		switch m.kind {
		case symbolTableMessage:
			if len(m.data) < 16 {
				return nil, errTruncated
			}
			s := &symbolTable{file: h, list: list}
			if s.heap, err = h.heap(le.Uint64(m.data[8:])); err == nil {
				err = s.read(le.Uint64(m.data), 0)
			}
		case linkMessage:
			err = readLink(m.data, list)
		case linkInfoMessage:
			err = h.denseLinks(m.data, list)
		}
		if err != nil {
			return nil, err
		}
	}
	return list, nil
}

// denseLinks reads the links of a large group, which are in a heap.
func (h *File) denseLinks(d []byte, list map[string]member) error {
	r := &cursor{b: d}
	r.skip(1)
	if r.uint(1)&1 != 0 {
		r.skip(8)
	}
	heapAddr, treeAddr := r.uint(8), r.uint(8)
	if r.err != nil || heapAddr == undefined {
		return r.err
	}
	heap, err := h.fractalHeap(heapAddr)
	if err != nil {
		return err
	}
	return h.walkTree2(treeAddr, func(kind, size int) (func([]byte) error, error) {
		if kind != linkNames || size < 4+heap.idSize {
			return nil, fmt.Errorf("the tree of a group has records of type %d and %d bytes: the file is damaged", kind, size)
		}
		return func(record []byte) error {
			link, err := heap.object(record[4:])
			if err != nil {
				return err
			}
			return readLink(link, list)
		}, nil
	})
}

// Kinds of links.
const (
	hardLink     = 0
	softLink     = 1
	externalLink = 64
)

func readLink(d []byte, list map[string]member) error {
	r := &cursor{b: d}
	r.skip(1)
	flags, kind := r.uint(1), uint64(hardLink)
	if flags&8 != 0 {
		kind = r.uint(1)
	}
	if flags&4 != 0 {
		r.skip(8) // creation order
	}
	if flags&16 != 0 {
		r.skip(1) // character set of the name
	}
	name := string(r.bytes(r.int(1 << (flags & 3))))
	var m member
	switch kind {
	case hardLink:
		m.addr = r.uint(8)
	case softLink:
		m.linkPath = string(r.bytes(r.int(2)))
	case externalLink:
		m.unreadable = "is in another file, by an external link"
	default:
		m.unreadable = fmt.Sprintf("is a link of kind %d", kind)
	}
	if r.err == nil {
		list[name] = m
	}
	return r.err
}

func (h *File) heap(addr uint64) ([]byte, error) {
	b, err := h.readAt(addr, 32)
	if err != nil {
		return nil, err
	}
	if n := le.Uint64(b[8:]); string(b[:4]) == "HEAP" && n <= uint64(h.size) {
		return h.readAt(le.Uint64(b[24:]), int(n))
	}
	return nil, fmt.Errorf("there is no local heap at %d: the file is damaged", addr)
}

// symbolTable reads the B-tree of a symbol table.
type symbolTable struct {
	file  *File
	heap  []byte
	list  map[string]member
	nodes int
}

func (s *symbolTable) read(addr uint64, depth int) error {
	// The size of a node is at least 24 bytes, which limits their number in the file.
	if s.nodes++; depth > 20 || int64(s.nodes) > s.file.size/24+1 {
		return errors.New("the tree of a group has no end: the file is damaged")
	}
	b, err := s.file.readAt(addr, 24)
	if err != nil {
		return err
	}
	switch string(b[:4]) {
	case "TREE":
		n := int(le.Uint16(b[6:]))
		if b, err = s.file.readAt(addr+24, 8+16*n); err != nil {
			return err
		}
		for i := range n {
			if err := s.read(le.Uint64(b[8+16*i:]), depth+1); err != nil {
				return err
			}
		}
		return nil
	case "SNOD":
		n := int(le.Uint16(b[6:]))
		if b, err = s.file.readAt(addr+8, 40*n); err != nil {
			return err
		}
		for entry := range slices.Chunk(b, 40) {
			if err := s.entry(entry); err != nil {
				return err
			}
		}
		return nil
	}
	return fmt.Errorf("there is no node of a symbol table at %d: the file is damaged", addr)
}

func (s *symbolTable) entry(b []byte) error {
	name, err := s.text(le.Uint64(b))
	m := member{addr: le.Uint64(b[8:])}
	if err == nil && le.Uint32(b[16:]) == 2 { // a soft link
		m.linkPath, err = s.text(uint64(le.Uint32(b[24:])))
	}
	s.list[name] = m
	return err
}

// text returns the string at an offset in the heap.
func (s *symbolTable) text(offset uint64) (string, error) {
	if offset >= uint64(len(s.heap)) {
		return "", errors.New("a name is outside its heap: the file is damaged")
	}
	text, _, _ := bytes.Cut(s.heap[offset:], []byte{0})
	return string(text), nil
}

// Names returns the sorted paths of all readable arrays.
func (h *File) Names() []string {
	const limit, depth = 1000, 8
	var list []string
	visited := map[uint64]bool{} // links may form cycles
	var walk func(addr uint64, prefix string, depth int)
	walk = func(addr uint64, prefix string, depth int) {
		members, err := h.members(addr)
		if err != nil || depth == 0 || visited[addr] {
			return
		}
		visited[addr] = true
		for _, name := range slices.Sorted(maps.Keys(members)) {
			m := members[name]
			if m.unreadable != "" || m.linkPath != "" || len(list) >= limit {
				continue
			}
			messages, err := h.header(m.addr)
			if err != nil {
				continue
			}
			if slices.ContainsFunc(messages, func(m message) bool { return m.kind == layoutMessage }) {
				list = append(list, prefix+name)
			} else {
				walk(m.addr, prefix+name+"/", depth-1)
			}
		}
	}
	walk(h.root, "", depth)
	return list
}

// find follows a path of names from a group.
func (h *File) find(addr uint64, path string, links int) (uint64, error) {
	if links > 16 {
		return 0, fmt.Errorf("%q: soft links without an end", path)
	}
	if strings.HasPrefix(path, "/") {
		addr = h.root
	}
	for name := range strings.SplitSeq(path, "/") {
		if name == "" || name == "." {
			continue
		}
		list, err := h.members(addr)
		if err != nil {
			return 0, err
		}
		m, ok := list[name]
		switch {
		case !ok && len(list) == 0:
			return 0, fmt.Errorf("there is no array %q, and no other: %w", name, fs.ErrNotExist)
		case !ok:
			return 0, fmt.Errorf("there is no array %q; want one of %s: %w",
				name, strings.Join(slices.Sorted(maps.Keys(list)), ", "), fs.ErrNotExist)
		case m.unreadable != "":
			return 0, fmt.Errorf("%q %s, which is not read", name, m.unreadable)
		case m.linkPath != "":
			if addr, err = h.find(addr, m.linkPath, links+1); err != nil {
				return 0, fmt.Errorf("%q is a link to %q: %w", name, m.linkPath, err)
			}
		default:
			addr = m.addr
		}
	}
	return addr, nil
}
