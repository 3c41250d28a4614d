package archive

import (
	"archive/tar"
	"bufio"
	"bytes"
	"compress/gzip"
	"errors"
	"fmt"
	"io"
	"io/fs"

	"github.com/unravel-ml/unravel/internal/disk"
)

// WalkTar calls visit for each file of a tar archive in order. The archive may be compressed by gzip. visit need not
// read the content. If it returns [fs.SkipAll], the walk ends without an error. Otherwise WalkTar reads the archive to
// its end, and so detects truncation and wrong checksums.
func WalkTar(path string, limits Limits, visit func(name string, size int64, r io.Reader) error) error {
	f, err := disk.Open(path)
	if err != nil {
		return err
	}
	defer f.Close()
	return ReadTar(path, f, limits, visit)
}

// ReadTar is [WalkTar] for a stream; name is used in errors.
func ReadTar(name string, r io.Reader, limits Limits, visit func(name string, size int64, r io.Reader) error) error {
	all := newChecked(limits)
	buffered := bufio.NewReaderSize(r, 1<<16)
	stream := io.Reader(buffered)
	if magic, err := buffered.Peek(2); err == nil && bytes.Equal(magic, []byte{0x1f, 0x8b}) {
		unpacked, err := gzip.NewReader(buffered)
		if err != nil {
			return fmt.Errorf("%s: %w; want a whole tar.gz file", name, err)
		}
		stream = unpacked
	}
	// Headers and padding need space in addition to the content of the members.
	bound := &bounded{r: stream, left: all.limits.Total + all.limits.Total/4 + 1<<20}
	err := members(tar.NewReader(bound), name, all, visit)
	if errors.Is(err, fs.SkipAll) {
		return nil
	}
	if err != nil {
		return err
	}
	if _, err := io.Copy(io.Discard, bound); err != nil {
		return broken(name, "after the last member", err)
	}
	return nil
}

func members(t *tar.Reader, name string, all *checked, visit func(name string, size int64, r io.Reader) error) error {
	for n := 0; ; n++ {
		h, err := t.Next()
		if err == io.EOF {
			return nil
		}
		if err != nil && !errors.Is(err, tar.ErrInsecurePath) {
			return broken(name, fmt.Sprintf("member %d", n+1), err)
		}
		if n > maxMembers {
			return fmt.Errorf("%s has more than %d members", name, maxMembers)
		}
		switch h.Typeflag {
		case tar.TypeReg, tar.TypeGNUSparse:
		case tar.TypeDir:
			if _, err := local(h.Name); err != nil {
				return fmt.Errorf("%s: folder %q %w", name, h.Name, err)
			}
			continue
		case tar.TypeXGlobalHeader:
			continue
		default:
			return fmt.Errorf("%s: member %q is a link or device (type %q); want files and folders only",
				name, h.Name, h.Typeflag)
		}
		clean, err := all.add(h.Name, h.Size)
		if err != nil {
			return fmt.Errorf("%s: member %q %w", name, h.Name, err)
		}
		if err := visit(clean, h.Size, &explained{r: t, name: name, member: clean}); err != nil {
			return err
		}
	}
}

// broken returns an error of reading. At the end of the stream, it reports a truncated archive.
func broken(name, where string, err error) error {
	if errors.Is(err, io.ErrUnexpectedEOF) {
		return fmt.Errorf("%s, %s: the file ends early: %w; want a whole tar file", name, where, err)
	}
	return fmt.Errorf("%s, %s: %w; want a whole tar file", name, where, err)
}

// explained adds the archive and the member to reading errors.
type explained struct {
	r            io.Reader
	name, member string
}

func (e *explained) Read(p []byte) (int, error) {
	n, err := e.r.Read(p)
	if err != nil && err != io.EOF {
		err = broken(e.name, fmt.Sprintf("member %q", e.member), err)
	}
	return n, err
}

// bounded returns an error if a stream is too long.
type bounded struct {
	r    io.Reader
	left int64
}

func (b *bounded) Read(p []byte) (int, error) {
	n, err := b.r.Read(p)
	if b.left -= int64(n); b.left < 0 {
		return 0, errors.New("it unpacks to more than its limit")
	}
	return n, err
}
