// Package archive reads zip and tar files from untrusted sources. It writes no files: members are returned as bytes.
//
// An archive is rejected as a whole if a member is a link or a device, has an absolute name or a name with "..", or
// occurs twice. [Limits] checks the unpacked size before memory is allocated, and checksums are verified.
package archive

import (
	"cmp"
	"errors"
	"fmt"
	"path"
	"strings"
)

// Limits are the maximum unpacked sizes of an archive in bytes; 0 means the default.
type Limits struct {
	Member int64 // for one member; default 1 GiB
	Total  int64 // for all members; default 64 GiB
}

// maxMembers is the maximum number of entries in an archive.
const maxMembers = 1 << 22

func (l Limits) orDefault() Limits {
	l.Member = cmp.Or(l.Member, 1<<30)
	l.Total = cmp.Or(l.Total, 64<<30)
	return l
}

// checked has the valid members of an archive so far.
type checked struct {
	limits Limits
	names  map[string]bool
	total  int64
}

func newChecked(l Limits) *checked {
	return &checked{limits: l.orDefault(), names: map[string]bool{}}
}

// add checks a regular file and returns its name without prefixes such as "./".
func (c *checked) add(name string, size int64) (string, error) {
	clean, err := local(name)
	if err != nil {
		return "", err
	}
	switch {
	case c.names[clean]:
		return "", errors.New("occurs twice; want each name once")
	case size < 0 || size > c.limits.Member:
		return "", fmt.Errorf("unpacks to %d bytes; want at most %d", size, c.limits.Member)
	case c.total+size > c.limits.Total:
		return "", fmt.Errorf("is beyond the limit: all members unpack to more than %d bytes", c.limits.Total)
	case len(c.names) >= maxMembers:
		return "", fmt.Errorf("is one too many; want at most %d members", maxMembers)
	}
	c.names[clean] = true
	c.total += size
	return clean, nil
}

// local returns a clean name that stays inside its folder on every system.
func local(name string) (string, error) {
	slashed := strings.ReplaceAll(name, `\`, "/")
	switch {
	case name == "" || strings.ContainsRune(name, 0):
		return "", errors.New("is no name of a file; want a name without zero bytes")
	case strings.HasPrefix(slashed, "/") || len(slashed) > 1 && slashed[1] == ':':
		return "", errors.New("has an absolute name; want a name below the archive's folder")
	}
	for part := range strings.SplitSeq(slashed, "/") {
		if part == ".." {
			return "", errors.New(`has a name with ".."; want a name below the archive's folder`)
		}
	}
	return path.Clean(name), nil
}
