package arrays

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
)

// Shards returns the files NAME-000.npy, NAME-001.npy, ... of a folder up to the first missing number. Together they
// contain an array that has no file NAME.npy.
func Shards(dir, name string) (list []string) {
	if _, err := os.Stat(filepath.Join(dir, name+".npy")); !errors.Is(err, fs.ErrNotExist) {
		return nil
	}
	for {
		path := filepath.Join(dir, fmt.Sprintf("%s-%03d.npy", name, len(list)))
		if info, err := os.Stat(path); err != nil || info.IsDir() {
			return list
		}
		list = append(list, path)
	}
}

// openShards opens an array whose rows are in several files.
func openShards(label string, files []string) (*Array, error) {
	var parts []*Array
	whole := &Array{Label: label, Files: files}
	for _, path := range files {
		a, err := openNPY(path)
		if err != nil {
			return nil, err
		}
		switch {
		case len(a.Shape) == 0 || a.Reversed:
			return nil, fmt.Errorf("%v; want rows in C order, for it is a part of an array in several files", a)
		case len(parts) == 0:
			whole.Shape, whole.Type = slices.Clone(a.Shape), a.Type
		case a.Type != whole.Type || !slices.Equal(a.Shape[1:], whole.Shape[1:]):
			return nil, fmt.Errorf("%v continues %v; want the same type and rows of the same shape", a, parts[0])
		default:
			whole.Shape[0] += a.Shape[0]
		}
		parts = append(parts, a)
	}
	whole.open = func() (Stream, error) { return &shardStream{parts: parts}, nil }
	return whole, nil
}

// shardStream reads several files in order.
type shardStream struct {
	parts []*Array
	now   Stream // stream of parts[0]; nil: not open yet
	left  int64  // remaining bytes of this part
}

func (s *shardStream) ReadFull(p []byte) error {
	return s.pass(int64(len(p)), func(n int64) error {
		part := p[:n]
		p = p[n:]
		return s.now.ReadFull(part)
	})
}

func (s *shardStream) Skip(n int64) error {
	return s.pass(n, func(n int64) error { return s.now.Skip(n) })
}

// pass advances by n bytes; each call of step stays within a part.
func (s *shardStream) pass(n int64, step func(n int64) error) error {
	for n > 0 {
		if s.now == nil {
			if err := s.begin(); err != nil {
				return err
			}
		}
		now := min(n, s.left)
		if err := step(now); err != nil {
			return err
		}
		n -= now
		if s.left -= now; s.left > 0 {
			continue
		}
		err := s.now.Close()
		s.parts, s.now = s.parts[1:], nil
		if err != nil {
			return err
		}
	}
	return nil
}

// begin opens the next part.
func (s *shardStream) begin() (err error) {
	if len(s.parts) == 0 {
		return errors.New("there are no more files with rows")
	}
	if s.now, err = s.parts[0].open(); err != nil {
		return err
	}
	s.left = int64(s.parts[0].Type.Size)
	for _, n := range s.parts[0].Shape {
		s.left *= int64(n)
	}
	return nil
}

func (s *shardStream) Unit() int { return 0 }

func (s *shardStream) Close() error {
	if s.now == nil {
		return nil
	}
	return s.now.Close()
}
