package archive

import (
	"archive/zip"
	"errors"
	"fmt"
	"hash/crc32"
	"io"
	"io/fs"
	"os"

	"github.com/unravel-ml/unravel/internal/disk"
)

// Zip is an open zip file. It is safe for concurrent reading.
type Zip struct {
	name  string
	file  *os.File // nil for NewZip
	files []*zip.File
	names []string
}

// OpenZip opens a zip file and checks its directory. The caller closes it.
func OpenZip(path string, limits Limits) (*Zip, error) {
	f, size, err := disk.OpenSized(path)
	if err != nil {
		return nil, err
	}
	z, err := NewZip(path, f, size, limits)
	if err != nil {
		f.Close() // nothing was written
		return nil, err
	}
	z.file = f
	return z, nil
}

// NewZip reads the directory of a zip file with size bytes; name is used in errors.
func NewZip(name string, r io.ReaderAt, size int64, limits Limits) (*Zip, error) {
	reader, err := zip.NewReader(r, size)
	if err != nil && !errors.Is(err, zip.ErrInsecurePath) {
		return nil, fmt.Errorf("%s: %w; want a whole zip file", name, err)
	}
	z, all := &Zip{name: name}, newChecked(limits)
	for _, f := range reader.File {
		mode := f.Mode()
		if mode.IsDir() {
			if _, err := local(f.Name); err != nil {
				return nil, fmt.Errorf("%s: folder %q %w", name, f.Name, err)
			}
			continue
		}
		clean, err := all.add(f.Name, int64(f.UncompressedSize64))
		if err == nil {
			err = zipped(f, mode, size)
		}
		if err != nil {
			return nil, fmt.Errorf("%s: member %q %w", name, f.Name, err)
		}
		z.files, z.names = append(z.files, f), append(z.names, clean)
	}
	return z, nil
}

// MaxDeflate is an upper bound of the compression ratio of deflate.
const MaxDeflate = 1033

// zipped checks the directory entry of a member. size is the size of the zip file in bytes.
func zipped(f *zip.File, mode fs.FileMode, size int64) error {
	packed, unpacked := f.CompressedSize64, f.UncompressedSize64
	switch {
	case !mode.IsRegular():
		return fmt.Errorf("is a link or device (%v); want files and folders only", mode)
	case f.Flags&1 != 0:
		return errors.New("is encrypted; want a zip file without password")
	case f.Method != zip.Store && f.Method != zip.Deflate:
		return fmt.Errorf("is packed by method %d; want 0 (stored) or 8 (deflate)", f.Method)
	case packed > uint64(size):
		return fmt.Errorf("has %d packed bytes; the whole file has %d", packed, size)
	case f.Method == zip.Store && packed != unpacked, f.Method == zip.Deflate && unpacked > packed*MaxDeflate:
		return fmt.Errorf("unpacks from %d to %d bytes, as the directory says; want sizes that are possible",
			packed, unpacked)
	}
	return nil
}

// Names returns the names of the files in the archive in order. Do not modify the result.
func (z *Zip) Names() []string { return z.names }

// Read returns the content of file i, in buf if it is large enough. It verifies length and checksum.
func (z *Zip) Read(i int, buf []byte) ([]byte, error) {
	buf, err := unzip(z.files[i], buf)
	if err != nil {
		return nil, fmt.Errorf("%s: member %q: %w", z.name, z.names[i], err)
	}
	return buf, nil
}

func unzip(f *zip.File, buf []byte) ([]byte, error) {
	size := int(f.UncompressedSize64)
	if cap(buf) < size {
		buf = make([]byte, size)
	}
	buf = buf[:size]
	r, err := f.Open()
	if err != nil {
		return nil, err
	}
	defer r.Close()
	if n, err := io.ReadFull(r, buf); err != nil {
		if errors.Is(err, io.EOF) {
			err = io.ErrUnexpectedEOF
		}
		return nil, fmt.Errorf("after %d of %d bytes: %w", n, size, err)
	}
	var more [1]byte
	if n, err := io.ReadFull(r, more[:]); n > 0 || err != io.EOF {
		if n > 0 {
			err = fmt.Errorf("more than the %d bytes that the directory says", size)
		}
		return nil, err
	}
	if sum := crc32.ChecksumIEEE(buf); sum != f.CRC32 { // the library treats checksum 0 as no checksum
		return nil, fmt.Errorf("checksum %08x; want %08x", sum, f.CRC32)
	}
	return buf, nil
}

func (z *Zip) Close() error {
	if z.file == nil {
		return nil
	}
	return z.file.Close()
}
