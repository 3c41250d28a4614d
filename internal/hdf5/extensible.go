package hdf5

import (
	"errors"
	"math/bits"
)

// arrayParameters are the parameters of an extensible array, from its header.
type arrayParameters struct {
	entryWidth    int // size of an entry in bytes
	maxBits       int // bits of the maximum number of entries
	inlineEntries int // entries in the index block
	minBlock      int // entries of the smallest data block
	minPointers   int // minimum number of data blocks in a super block
	pageBits      int // bits of the number of entries per page
	total         int // maximum number of entries
}

// bitmap has a bit for each initialised page of data blocks. Its first bit is the most significant bit of a byte.
type bitmap struct {
	bits  []byte // for all data blocks of a super block; empty: all pages are initialised
	first int
}

func (m bitmap) isSet(page int) bool {
	i := m.first + page
	return len(m.bits) == 0 || m.bits[i/8]>>(7-i%8)&1 != 0
}

// extensibleArray reads the index of an array with one unlimited dimension. Its entries are in an index block, in data
// blocks that the index block lists, and in data blocks that super blocks list. Later super blocks have larger data
// blocks.
func (x *index) extensibleArray() error {
	b, width, err := x.arrayHeader("EAHD", 12+6*8+8)
	if err != nil {
		return err
	}
	p := &arrayParameters{width, int(b[7]), int(b[8]), int(b[9]), int(b[10]), int(b[11]), x.indexSize()}
	indexBlock := le.Uint64(b[60:])
	powerOf2 := func(n int) bool { return bits.OnesCount(uint(n)) == 1 }
	if !powerOf2(p.minBlock) || !powerOf2(p.minPointers) || p.maxBits > 64 || p.pageBits > 31 {
		return errors.New("an extensible array of odd sizes: the file is damaged")
	}
	if indexBlock == undefined {
		return nil
	}
	direct := 0 // super blocks whose data blocks are in the index block's list
	for n := p.minPointers; n > 1; n /= 2 {
		direct += 2
	}
	supers := 1 + p.maxBits
	for n := p.minBlock; n > 1; n /= 2 {
		supers--
	}
	addresses := 2*(p.minPointers-1) + max(0, supers-direct) // of data blocks and of super blocks
	if b, err = x.file.readChecked(indexBlock, 14+p.inlineEntries*width+8*addresses, "EAIB"); err != nil {
		return err
	}
	read := min(p.inlineEntries, p.total)
	x.readEntries(b[14:], width, 0, read)
	b = b[14+p.inlineEntries*width:]
	for u := 0; read < p.total && u < supers; u++ {
		count, size := 1<<(u/2), p.minBlock<<((u+1)/2) // number of data blocks in this super block, and their entries
		list, written := b, []byte(nil)
		if u < direct {
			b = b[8*count:]
		} else {
			if list, written, err = x.superBlock(p, le.Uint64(b), count, size); err != nil {
				return err
			}
			b = b[8:]
		}
		for i := 0; i < count && read < p.total; i++ {
			n := min(size, p.total-read)
			if list != nil {
				pages := bitmap{written, i * (size >> p.pageBits)}
				if err := x.dataBlock(p, le.Uint64(list[8*i:]), size, read, n, pages); err != nil {
					return err
				}
			}
			read += n
		}
	}
	return nil
}

// superBlock returns the addresses of the data blocks in a super block, and the bitmap of initialised pages. The
// addresses are nil if the super block was never written.
func (x *index) superBlock(p *arrayParameters, addr uint64, count, size int) (list, written []byte, err error) {
	if addr == undefined {
		return nil, nil, nil
	}
	start, bitmaps := 14+(p.maxBits+7)/8, 0
	if size > 1<<p.pageBits {
		bitmaps = count * ((size>>p.pageBits + 7) / 8)
	}
	b, err := x.file.readChecked(addr, start+bitmaps+8*count, "EASB")
	if err != nil {
		return nil, nil, err
	}
	return b[start+bitmaps:], b[start : start+bitmaps], nil
}

// dataBlock reads n entries of a block with size entries. The first entry has index first in the array.
func (x *index) dataBlock(p *arrayParameters, addr uint64, size, first, n int, written bitmap) error {
	if addr == undefined {
		return nil
	}
	start, page := 14+(p.maxBits+7)/8, 1<<p.pageBits
	if size <= page {
		b, err := x.file.readChecked(addr, start+size*p.entryWidth, "EADB")
		if err == nil {
			x.readEntries(b[start:], p.entryWidth, first, n)
		}
		return err
	}
	return x.readPages(addr+uint64(start+4), p.entryWidth, page, size, first, n, written)
}
