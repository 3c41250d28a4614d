package datasets

import (
	"context"
	"fmt"
	"os"

	"github.com/unravel-ml/unravel/datasets/cache"
	"github.com/unravel-ml/unravel/datasets/internal/pictures"
	"github.com/unravel-ml/unravel/internal/table"
)

// FileReader is implemented by settings that read the user's files, such as a folder of pictures.
type FileReader interface {
	// Reads lists the files with the keys of their settings.
	Reads() []Read
}

// Read is a file or folder that a setting names.
type Read struct {
	Key    string // setting that names the path
	Path   string
	Folder pictures.Kind // kind of the relevant files in a folder; zero: Path is a file

	InSet bool // the hashes of a cached set cover the content
}

// Input is a file or folder that a run has read.
type Input struct {
	Key    string `json:"key"` // key in the config, such as dataset.grid.path
	Name   string `json:"name"`
	SHA256 string `json:"sha256"` // hash; for a folder, of the names and contents of its files

	inSet bool // see [Read]
}

// Hasher hashes the input files of several runs, each once. It is not safe for concurrent use. The zero value is ready.
type Hasher struct{ known map[Read]string }

// Input returns the input of a key. It stores the hashes of files in the data folder for other processes.
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
	return Input{key, r.Path, sum, r.InSet}, nil
}

func (r Read) hash(ctx context.Context) (string, error) {
	info, err := os.Stat(r.Path)
	if err != nil {
		return "", err
	}
	if !info.IsDir() {
		return cache.HashFile(ctx, r.Path)
	}
	list := pictures.ListPictures
	switch r.Folder {
	case pictures.Meshes:
		list = pictures.ListMeshes
	case pictures.NoFiles:
		return "", fmt.Errorf("%s is a folder; want a file", r.Path)
	}
	l, err := list(r.Path)
	if err != nil {
		return "", err
	}
	return l.Hash(ctx)
}

// ChangedInputs lists the inputs of a run that have changed since the run read them, among inputs with equal keys.
func ChangedInputs(recorded, now []Input) (list []string) {
	for _, old := range recorded {
		for _, current := range now {
			if current.Key == old.Key && current.SHA256 != old.SHA256 {
				list = append(list, fmt.Sprintf("%s: %s has changed since the run began: it had the SHA-256 %s, now %s",
					current.Key, current.Name, old.SHA256, current.SHA256))
			}
		}
	}
	return list
}

// ReadOf returns the file of a key, or nil for an empty path. The path may name an array of a table, FILE.npz:NAME.
func ReadOf(key, path string) []Read {
	if path == "" {
		return nil
	}
	return []Read{{Key: key, Path: table.File(path)}}
}
