package pretrained

import (
	"archive/zip"
	"bytes"
	"compress/flate"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"io"
	"maps"
	"slices"
	"strings"

	"github.com/unravel-ml/unravel/internal/archive"
	"github.com/unravel-ml/unravel/train/rundir"
)

// weightsFile holds the weights. The other files have the names of a run's files.
const weightsFile = "weights.safetensors"

// Manifest describes an archive.
type Manifest struct {
	Format   int           `json:"format"` // 1
	Name     string        `json:"name"`
	Ledger   Source        `json:"ledger"`
	Training rundir.Record `json:"training"` // of the ledger's run; its history names the rounding
	Metrics  []Value       `json:"metrics"`

	Files map[string]string `json:"files"` // SHA-256 of the other files, by name
}

// Source is a run in the ledger.
type Source struct {
	Folder string `json:"folder"`
	Scale  string `json:"scale"`
	Run    string `json:"run"`
	Config string `json:"config"` // ID of its config
	Seed   uint64 `json:"seed"`
}

// Value is a metric of the model.
type Value struct {
	Name    string  `json:"name"`
	Better  string  `json:"better"`
	Ledger  float64 `json:"ledger"`  // of the ledger's run, in float32
	Rounded float64 `json:"rounded"` // after rounding to float16
}

// format is the version of archives.
const format = 1

// limits bound what an archive unpacks to.
var limits = archive.Limits{Member: 16 << 20, Total: 64 << 20}

// Archive is the content of an archive.
type Archive struct {
	Manifest
	files map[string][]byte // without the manifest
}

// Open reads an archive, and compares its files with their hashes.
func Open(path string) (*Archive, error) {
	z, err := archive.OpenZip(path, limits)
	if err != nil {
		return nil, err
	}
	defer z.Close() // it was only read
	a := &Archive{files: map[string][]byte{}}
	for i, name := range z.Names() {
		if a.files[name], err = z.Read(i, nil); err != nil {
			return nil, err
		}
	}
	if err := a.check(); err != nil {
		return nil, fmt.Errorf("%s: %w", path, err)
	}
	return a, nil
}

// check reads the manifest, and compares the other files with it.
func (a *Archive) check() error {
	text, ok := a.files[rundir.ModelFile]
	if !ok {
		return fmt.Errorf("it has no %s; want an archive of a trained model", rundir.ModelFile)
	}
	delete(a.files, rundir.ModelFile)
	if err := json.Unmarshal(text, &a.Manifest); err != nil {
		return fmt.Errorf("%s: %w", rundir.ModelFile, err)
	}
	if a.Format != format {
		return fmt.Errorf("%s: it has format %d; want %d, or a newer program", rundir.ModelFile, a.Format, format)
	}
	for _, name := range slices.Sorted(maps.Keys(a.Files)) {
		content, ok := a.files[name]
		if !ok {
			return fmt.Errorf("%s is missing", name)
		}
		if got := sumOf(content); got != a.Files[name] {
			return fmt.Errorf("%s: its SHA-256 is %s; want %s, as %s says", name, got, a.Files[name], rundir.ModelFile)
		}
	}
	for _, name := range slices.Sorted(maps.Keys(a.files)) {
		if _, ok := a.Files[name]; !ok {
			return fmt.Errorf("%s: %s does not list the file", name, rundir.ModelFile)
		}
	}
	for _, name := range []string{rundir.Config, weightsFile, rundir.MetricsFile, rundir.CardFile} {
		if _, ok := a.files[name]; !ok {
			return fmt.Errorf("%s is missing", name)
		}
	}
	return nil
}

// sumOf returns the SHA-256 hash of a file in hexadecimal digits.
func sumOf(content []byte) string {
	sum := sha256.Sum256(content)
	return hex.EncodeToString(sum[:])
}

// manifest returns the text of model.json.
func (a *Archive) manifest() ([]byte, error) {
	a.Files = map[string]string{}
	for name, content := range a.files {
		a.Files[name] = sumOf(content)
	}
	var b bytes.Buffer
	err := rundir.JSON(a.Manifest)(&b)
	return b.Bytes(), err
}

// Write writes the zip file. The same content gives the same bytes.
func (a *Archive) Write(w io.Writer) error {
	text, err := a.manifest()
	if err != nil {
		return err
	}
	z := zip.NewWriter(w)
	z.RegisterCompressor(zip.Deflate, func(w io.Writer) (io.WriteCloser, error) {
		return flate.NewWriter(w, flate.BestCompression)
	})
	add := func(name string, content []byte) error {
		f, err := z.CreateHeader(&zip.FileHeader{Name: name, Method: zip.Deflate})
		if err == nil {
			_, err = f.Write(content)
		}
		return err
	}
	if err := add(rundir.ModelFile, text); err != nil {
		return err
	}
	for _, name := range slices.Sorted(maps.Keys(a.files)) {
		if err := add(name, a.files[name]); err != nil {
			return err
		}
	}
	return z.Close()
}

// stage lists the files of a stage before training.
func (a *Archive) stage() (names []string) {
	for name := range a.files {
		if strings.Contains(name, "/") {
			names = append(names, name)
		}
	}
	slices.Sort(names)
	return names
}
