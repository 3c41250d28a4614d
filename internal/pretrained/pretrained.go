// Package pretrained has the trained models that `unravel pull` fetches: a table of their archives, and how an archive
// becomes a run.
//
// An archive is a zip file:
//
//   - model.json: a [Manifest] with the run in the ledger, the metrics and the SHA-256 hash of every other file
//   - README.md: the model card
//   - config.yaml: the config of the run, with its seed
//   - weights.safetensors: parameters and states, each rounded to the nearest float16
//   - metrics.json: the results of the rounded model, as `unravel eval` gives them
//   - STAGE/...: the results of a stage before training, such as the hierarchy of COFHAE
package pretrained

import (
	"fmt"

	"github.com/unravel-ml/unravel/configs/registry"
	"github.com/unravel-ml/unravel/datasets/fetch"
	"github.com/unravel-ml/unravel/internal/version"
)

// Model is an entry of the table.
type Model struct {
	Name    string
	Method  string // for people
	Dataset string

	Folder, Scale, Run string // its run in the ledger

	Metric string  // the metric that says most about it
	Value  float64 // of the ledger's run

	Size   int64  // bytes of the archive
	SHA256 string // of the archive, in hexadecimal digits
}

// Models lists the models by name.
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

// Lookup returns the model of a name. The error about another name suggests the nearest one.
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

// releases is the address of the releases, which hold the archives.
const releases = "https://github.com/unravel-ml/unravel/releases/"

// File returns the archive as a file to fetch, from the release of this program or else from the latest release.
func (m *Model) File() fetch.File {
	from := releases + "latest/download/"
	if v := version.Release(); v != "" {
		from = releases + "download/" + v + "/"
	}
	return fetch.File{Name: m.Archive(), URL: from + m.Archive(), Size: m.Size, SHA256: m.SHA256}
}

// Archive is the file name of the archive.
func (m *Model) Archive() string { return m.Name + ".zip" }
