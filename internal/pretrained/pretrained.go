// Package pretrained has the trained models of `unravel pull`: a table of their archives, and the installation of an
// archive as a run.
//
// An archive is a zip file:
//
//   - model.json: a [Manifest] with the run in the ledger, the metrics and the SHA-256 hash of every other file
//   - README.md: the model card
//   - config.yaml: the config of the run, with its seed
//   - weights.safetensors: parameters and states, each rounded to the nearest float16
//   - metrics.json: the results of the rounded model, as `unravel eval` gives them
//   - STAGE/...: the results of an earlier stage, such as the hierarchy of COFHAE
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

	"github.com/unravel-ml/unravel/configs/registry"
	"github.com/unravel-ml/unravel/datasets/source"
	"github.com/unravel-ml/unravel/internal/archive"
	"github.com/unravel-ml/unravel/internal/version"
	"github.com/unravel-ml/unravel/train/rundir"
)

// Model is an entry of the table.
type Model struct {
	Name    string
	Method  string // for people
	Dataset string

	Folder, Scale, Run string // its run in the ledger

	Metric string  // the most informative metric
	Value  float64 // value of the metric for the ledger's run

	Size   int64  // size of the archive in bytes
	SHA256 string // hash of the archive in hexadecimal digits
}

func Models() []Model {
	return []Model{
		{Name: "byol-room", Method: "BYOL with 64 columns and small heads", Dataset: "room",
			Folder: "negative-free", Scale: "medium", Run: "64-d-BYOL-small-heads_medium_seed0",
			Metric: "downstream", Value: 0.6002000000000001,
			Size: 1156890, SHA256: "b92d2ddbfc8ce8d4e9f86e3abc212d4698ca59296e6284be5a2413f978b4a618"},
		{Name: "cofhae-chopsticks", Method: "COFHAE with a hierarchy from MIMOSA", Dataset: "chopsticks",
			Folder: "hierarchical-benchmark", Scale: "medium", Run: "COFHAE-MIMOSA_inter-2_medium_seed0",
			Metric: "r4c", Value: 0.9856401375916777,
			Size: 359726, SHA256: "fa20fc923cf70631fb2b613ba074326ec2c7c956ea19b7b04de18bf513fa26a8"},
		{Name: "lsbd-vae-arrow", Method: "LSBD-VAE with labels of rotations", Dataset: "arrow",
			Folder: "lsbd-vae-table6", Scale: "medium", Run: "LSBD-VAE-FULL_medium_seed0",
			Metric: "dlsbd", Value: 0.00031402278904558615,
			Size: 1395334, SHA256: "24ffadf19c8b45c5ef74c5b30905102a8a0a05595bb0e27769e49baf6c41c28b"},
		{Name: "lsbd-vae-square", Method: "LSBD-VAE with labels of rotations", Dataset: "square",
			Folder: "lsbd-vae-table5", Scale: "medium", Run: "LSBD-VAE-FULL_medium_seed0",
			Metric: "dlsbd", Value: 0.0002892918094097403,
			Size: 1395095, SHA256: "58f68d090357491b5fa2c38c9f5549c3828b12724bd96f7a02bb9f5de7af6abf"},
		{Name: "vae-sprites", Method: "VAE with variance and contraction", Dataset: "sprites",
			Folder: "modularity-ablation", Scale: "medium", Run: "variance-contraction-10_sprites-VAE_medium_seed0",
			Metric: "mig", Value: 0.6240062542364551,
			Size: 682801, SHA256: "953da88d6148a1ff740e37258e5bcec454433bade9f6552c4efc8599eae52d3e"},
	}
}

// Lookup returns the model with the given name. The error for an unknown name suggests the nearest name.
func Lookup(name string) (Model, error) {
	var names []string
	for _, m := range Models() {
		if m.Name == name {
			return m, nil
		}
		names = append(names, m.Name)
	}
	return Model{}, fmt.Errorf("there is no trained model %q%s", name, registry.Suggest(name, names))
}

const releases = "https://github.com/unravel-ml/unravel/releases/"

// File returns the archive as a file to download: from the release of this program if it is known, otherwise from the
// latest release.
func (m *Model) File() source.File {
	from := releases + "latest/download/"
	if v := version.Release(); v != "" {
		from = releases + "download/" + v + "/"
	}
	return source.File{Name: m.Archive(), URL: from + m.Archive(), Size: m.Size, SHA256: m.SHA256}
}

func (m *Model) Archive() string { return m.Name + ".zip" }

// weightsFile is the file with the weights. The other files have the same names as in a run.
const weightsFile = "weights.safetensors"

type Manifest struct {
	Format   int           `json:"format"` // 1
	Name     string        `json:"name"`
	Ledger   Source        `json:"ledger"`
	Training rundir.Record `json:"training"` // record of the ledger's run; its history contains the rounding
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
	Ledger  float64 `json:"ledger"`  // for the ledger's run, in float32
	Rounded float64 `json:"rounded"` // after rounding to float16
}

const format = 1

// limits are the maximum unpacked sizes of an archive.
var limits = archive.Limits{Member: 16 << 20, Total: 64 << 20}

type Archive struct {
	Manifest
	files map[string][]byte // excluding the manifest
}

// Open reads an archive, and verifies the hashes of its files.
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

// Write writes the zip file. Equal contents give equal bytes.
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
func (a *Archive) stage() []string {
	names := slices.Sorted(maps.Keys(a.files))
	return slices.DeleteFunc(names, func(name string) bool { return !strings.Contains(name, "/") })
}
