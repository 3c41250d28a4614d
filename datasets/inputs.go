package datasets

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/unravel-ml/unravel/datasets/cache"
	"github.com/unravel-ml/unravel/datasets/render"
	"github.com/unravel-ml/unravel/internal/arrays"
	"github.com/unravel-ml/unravel/internal/table"
)

// FileReader is implemented by settings that read the user's files, such as a [GridFolder].
type FileReader interface {
	// Reads lists the files, by the keys of the settings.
	Reads() []Read
}

// Read is a file or folder that settings name.
type Read struct {
	Key  string // of the setting
	Path string
	kind folderKind // kind of the files that count in a folder

	inSet bool // the hashes of a cached set tell its content
}

// folderKind says which files of a folder are read.
type folderKind int

const (
	noFolder folderKind = iota
	pictureFolder
	meshFolder
)

// Input is a file or folder that a run has read.
type Input struct {
	Key    string `json:"key"` // key in the config, such as dataset.grid.path
	Name   string `json:"name"`
	SHA256 string `json:"sha256"` // hash; for a folder, of the names and contents of its files

	inSet bool // see [Read]
}

// Hasher hashes the files of many runs, each file once. Its zero value is ready. One goroutine at a time may use it.
type Hasher struct{ known map[Read]string }

// Input returns the input of a key. The data folder remembers the hashes of files between processes.
func (h *Hasher) Input(ctx context.Context, key string, r Read) (Input, error) {
	sum, ok := h.known[r]
	if !ok {
		var err error
		if sum, err = r.hash(ctx); err != nil {
			return Input{}, fmt.Errorf("%s: %w", key, err)
		}
		if h.known == nil {
			h.known = map[Read]string{}
		}
		h.known[r] = sum
	}
	return Input{key, r.Path, sum, r.inSet}, nil
}

func (r Read) hash(ctx context.Context) (string, error) {
	info, err := os.Stat(r.Path)
	if err != nil {
		return "", err
	}
	if !info.IsDir() {
		return cache.HashFile(ctx, r.Path)
	}
	list := listPictures
	switch r.kind {
	case meshFolder:
		list = listMeshes
	case noFolder:
		return "", fmt.Errorf("%s is a folder; want a file", r.Path)
	}
	l, err := list(r.Path)
	if err != nil {
		return "", err
	}
	return l.hash(ctx)
}

// ChangedInputs lists the inputs of a run that have changed since. It compares only inputs of equal keys.
func ChangedInputs(began, now []Input) (list []string) {
	for _, old := range began {
		for _, in := range now {
			if in.Key == old.Key && in.SHA256 != old.SHA256 {
				list = append(list, fmt.Sprintf("%s: %s has changed since the run began: it had the SHA-256 %s, now %s", in.Key, in.Name, old.SHA256, in.SHA256))
			}
		}
	}
	return list
}

// named returns the file of a key, or nothing without a path.
func named(key, path string) []Read {
	if path == "" {
		return nil
	}
	return []Read{{Key: key, Path: path}}
}

// tabled is named for a table, which may be an array FILE.npz:NAME.
func tabled(key, path string) []Read { return named(key, table.File(path)) }

// Reads implements [FileReader].
func (g *GridFolder) Reads() []Read {
	if info, err := os.Stat(g.Path); err != nil || !info.IsDir() {
		return named("path", g.Path)
	}
	names := g.Arrays.withDefaults()
	var list []Read
	for _, name := range []string{names.Images, names.Factors, names.Sizes} {
		path := filepath.Join(g.Path, name+".npy")
		if _, err := os.Stat(path); err == nil {
			list = append(list, Read{Key: "path/" + name, Path: path})
		}
		for i, shard := range arrays.Shards(g.Path, name) {
			list = append(list, Read{Key: fmt.Sprintf("path/%s-%03d", name, i), Path: shard})
		}
	}
	return list
}

// Reads implements [FileReader].
func (f *Folder) Reads() []Read {
	list := []Read{{"path", f.Path, pictureFolder, true}}
	if f.Labels == "" || f.Labels == withoutLabels || f.Labels == labelsOfFolders {
		return list
	}
	return append(list, Read{Key: "labels", Path: f.labelsPath(), inSet: true})
}

// Reads implements [FileReader].
func (t *Turntable) Reads() []Read {
	if t.Path == "" {
		return nil
	}
	return []Read{{"path", t.Path, meshFolder, true}}
}

// Reads implements [FileReader].
func (p *Poses) Reads() []Read { return named("mesh", p.Mesh) }

// Reads implements [FileReader].
func (d *DSprites) Reads() []Read { return named("scream", d.Scream) }

// Reads implements [FileReader].
func (f *FactorLabels) Reads() []Read { return tabled("file", f.File) }

// Reads implements [FileReader].
func (a *Answers) Reads() []Read { return named("file", a.File) }

// Reads implements [FileReader].
func (p *Changes) Reads() []Read { return tabled("file", p.File) }

// Reads implements [FileReader].
func (g *Groups) Reads() []Read {
	return slices.Concat(named("images", g.Images), named("moves", g.Transformations), named("rotations", g.Rotations))
}

// isMesh reports whether a file counts as a mesh.
func isMesh(name string) bool {
	return slices.Contains(render.Formats(), strings.ToLower(filepath.Ext(name)))
}

// listMeshes lists the meshes below a folder in the order of their paths.
func listMeshes(path string) (*pictureList, error) {
	return listFiles(path, "meshes", render.Formats(), isMesh)
}
