package train

import (
	"errors"
	"fmt"
	"reflect"
	"strings"

	"github.com/unravel-ml/unravel/configs/config"
	"github.com/unravel-ml/unravel/graph/nn"
	"github.com/unravel-ml/unravel/losses"
	"github.com/unravel-ml/unravel/train/engine"
)

// mistake returns an error about a key, located at the key or else at the enclosing part.
func (c *Config) mistake(key string, err error) *config.Error {
	if c.source != nil {
		return c.source.Near(key, err)
	}
	return &config.Error{Key: key, Err: err}
}

// misfit returns an error from creating the model, at the failing layer of a list of layers, or at the model.
func (c *Config) misfit(err error) *config.Error {
	key := "model." + c.Model.Name
	var l *nn.LayerError
	if !errors.As(err, &l) || l.Key == "" || c.source == nil {
		return c.mistake(key, err)
	}
	network, _, _ := strings.Cut(l.Name, "/")
	node := c.source
	for _, segment := range []string{"model", c.Model.Name, network, "layers"} {
		if node = node.Get(segment); node == nil {
			return c.mistake(key, err) // a preset, or the mirrored encoder
		}
	}
	layer := l.Key
	if node.IsMap() {
		layer = strings.Replace(layer, "layers.", "layers.list.", 1)
	}
	return c.mistake(key+"."+network+"."+layer, err)
}

// dataError is an error from building a data set, located in the config. The config may be right: files may be damaged.
type dataError struct{ located, err error }

func (e *dataError) Error() string { return e.located.Error() }
func (e *dataError) Unwrap() error { return e.err }

// untrainable returns an error from preparing to train. It points to a loss, a key, or otherwise the model.
func (c *Config) untrainable(err error) *config.Error {
	var keyErr *engine.Error
	var lossErr *losses.Error
	switch {
	case errors.As(err, &lossErr):
		return c.mistake(c.lossKey(lossErr.Choice), err)
	case errors.As(err, &keyErr):
		return c.mistake(keyErr.Key, err)
	}
	return c.mistake("model."+c.Model.Name, err)
}

func (c *Config) lossKey(l losses.Choice) string {
	for i, o := range c.Losses {
		if o.Name == l.Name && reflect.ValueOf(o.Value).Kind() == reflect.Pointer && o.Value == l.Value {
			return fmt.Sprintf("losses.%d.%s", i, l.Name)
		}
	}
	return "losses"
}
