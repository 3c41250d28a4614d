// Package content hashes files and caches the hashes. A program reads a large folder only once, not at every start.
//
// The key of a stored hash is a device, an inode, a size, and the modification times of content (mtime) and inode
// (ctime). Programs can set mtime, as archivers do, but not ctime.
package content

import (
	"bytes"
	"context"
	"crypto/sha256"
	"encoding/binary"
	"encoding/hex"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"sync"
	"time"

	"github.com/unravel-ml/unravel/internal/disk"
)

// Sum is the SHA-256 hash of a file.
type Sum [sha256.Size]byte

// String returns the hash in hexadecimal digits.
func (s Sum) String() string { return hex.EncodeToString(s[:]) }

// identity identifies the state of a file on a machine.
type identity struct {
	Device, Inode           uint64
	Size, Modified, Changed int64 // times in nanoseconds
}

// Changed returns the last change time (ctime) of a file's inode in nanoseconds since 1970, or 0 if the system does not
// report it.
func Changed(info fs.FileInfo) int64 {
	of, _ := identify(info)
	return of.Changed
}

type entry struct {
	Of  identity
	Sum Sum
}

// Memory caches the hashes of files. It is safe for concurrent use.
type Memory struct {
	path  string
	known map[identity]Sum

	lock sync.Mutex
	used []entry // hashes used by this process
	new  bool    // some of them are not stored yet
}

// heading is the start of a file of hashes. The end of the file is the hash of everything before it.
const heading = "unravel hashes 1\n"

// Open reads the cached hashes from a file. A missing or damaged file counts as empty. Without a path, nothing is
// cached.
func Open(path string) *Memory {
	m := &Memory{path: path, known: map[identity]Sum{}}
	text, err := os.ReadFile(path)
	at := len(text) - sha256.Size
	if err != nil || at < len(heading) || sha256.Sum256(text[:at]) != Sum(text[at:]) {
		return m
	}
	list := make([]entry, (at-len(heading))/binary.Size(entry{}))
	if binary.Read(bytes.NewReader(text[len(heading):at]), binary.LittleEndian, list) == nil {
		for _, e := range list {
			m.known[e.Of] = e.Sum
		}
	}
	return m
}

func (m *Memory) Known(info fs.FileInfo) (Sum, bool) {
	of, ok := identify(info)
	if !ok {
		return Sum{}, false
	}
	sum, ok := m.known[of]
	if ok {
		m.remember(entry{of, sum}, false)
	}
	return sum, ok
}

// settled is the age after which every further change of a file changes its times. File systems round times to 2 s or
// less.
const settled = 2 * time.Second

// Hash reads a file and caches its hash. It does not cache the hash of a file that has just changed.
func (m *Memory) Hash(ctx context.Context, f *os.File, report func(done, total int64)) (Sum, error) {
	before, err := f.Stat()
	if err != nil {
		return Sum{}, err
	}
	begun := time.Now()
	hash, buf := sha256.New(), make([]byte, min(before.Size()+1, 1<<20))
	for done := int64(0); ; {
		n, err := f.Read(buf)
		hash.Write(buf[:n])
		if err == io.EOF {
			break
		}
		if err == nil {
			err = ctx.Err()
		}
		if err != nil {
			return Sum{}, err
		}
		if done += int64(n); report != nil {
			report(done, before.Size())
		}
	}
	sum := Sum(hash.Sum(nil))
	after, err := f.Stat()
	if err != nil {
		return Sum{}, err
	}
	of, ok := identify(before)
	if now, _ := identify(after); ok && of == now && begun.Sub(time.Unix(0, of.Changed)) > settled {
		m.remember(entry{of, sum}, true)
	}
	return sum, nil
}

func (m *Memory) remember(e entry, isNew bool) {
	m.lock.Lock()
	defer m.lock.Unlock()
	m.used, m.new = append(m.used, e), m.new || isNew
}

// Save stores the hashes of the files that were requested, and drops others. It writes nothing if all of them were
// known.
func (m *Memory) Save() error {
	m.lock.Lock()
	defer m.lock.Unlock()
	if !m.new || m.path == "" {
		return nil
	}
	text, err := binary.Append([]byte(heading), binary.LittleEndian, m.used)
	if err != nil {
		return err
	}
	sum := sha256.Sum256(text)
	if err := disk.MakeDir(filepath.Dir(m.path)); err != nil {
		return err
	}
	return disk.WriteFile(m.path, func(w io.Writer) error {
		_, err := w.Write(append(text, sum[:]...))
		return err
	}, false)
}

// HashFile returns the hash of a file. memory is the path of the cache.
func HashFile(ctx context.Context, file, memory string, report func(done, total int64)) (Sum, error) {
	f, err := os.Open(file)
	if err != nil {
		return Sum{}, err
	}
	defer f.Close() // nothing was written
	info, err := f.Stat()
	if err != nil {
		return Sum{}, err
	}
	m := Open(memory)
	if sum, ok := m.Known(info); ok {
		return sum, nil
	}
	sum, err := m.Hash(ctx, f, report)
	if err == nil {
		_ = m.Save() // in a read-only folder, nothing is cached
	}
	return sum, err
}
