// Package configtest reads configs for tests, and checks images.
package configtest

import (
	"testing"

	"github.com/unravel-ml/unravel/configs/config"
	"github.com/unravel-ml/unravel/conformance"
	"github.com/unravel-ml/unravel/datasets"
	"github.com/unravel-ml/unravel/datasets/catalog"
	"github.com/unravel-ml/unravel/datasets/supervision"
)

// Settings is a config of a data set and its supervision.
type Settings struct {
	Dataset     catalog.Choice      `yaml:"dataset"`
	Supervision supervision.Choices `yaml:"supervision"`
}

// Decode reads a config.
func Decode(text string) (s Settings, err error) {
	n, err := config.Parse("test.yaml", []byte(text))
	if err == nil {
		err = n.Decode(&s)
	}
	return s, err
}

// Conform checks what package conformance checks of data sets with default settings.
func Conform(t *testing.T, d datasets.Dataset) {
	t.Helper()
	if err := conformance.CheckImages(d); err != nil {
		t.Error(err)
	}
}
