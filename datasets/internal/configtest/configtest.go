// Package configtest reads configs for tests.
package configtest

import (
	"github.com/unravel-ml/unravel/configs/config"
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
