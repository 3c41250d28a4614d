package train

import (
	"errors"
	"fmt"
	"reflect"

	"github.com/unravel-ml/unravel/config"
	"github.com/unravel-ml/unravel/losses"
	"github.com/unravel-ml/unravel/train/engine"
)

// ConfigError is a mistake in a config that shows only when its parts meet: a
// network that does not fit the images, a loss that needs what the model lacks.
type ConfigError struct{ Err error }

func (e *ConfigError) Error() string {
	if _, ok := e.Err.(*config.Error); ok { // it says where
		return e.Err.Error()
	}
	return "config: " + e.Err.Error()
}

// Unwrap returns what is wrong.
func (e *ConfigError) Unwrap() error { return e.Err }

// mistake is an error about a key, located where the config gives it, or what it is part of.
func (c *Config) mistake(key string, err error) *ConfigError {
	if c.source != nil {
		return &ConfigError{c.source.Near(key, err)}
	}
	return &ConfigError{fmt.Errorf("%s: %w", key, err)}
}

// dataError is an error of building a data set, located in the config. It is no mistake of the config's: files may be damaged.
type dataError struct{ located, err error }

func (e *dataError) Error() string { return e.located.Error() }
func (e *dataError) Unwrap() error { return e.err }

// untrainable is an error of preparing to train: about a loss, a key, or else the model.
func (c *Config) untrainable(err error) *ConfigError {
	var k *engine.Error
	var of *losses.Error
	switch {
	case errors.As(err, &of):
		return c.mistake(c.lossKey(of.Choice), err)
	case errors.As(err, &k):
		return c.mistake(k.Key, err)
	}
	return c.mistake("model."+c.Model.Name, err)
}

// lossKey is the key of a loss.
func (c *Config) lossKey(l losses.Choice) string {
	for i, o := range c.Losses {
		if o.Name == l.Name && reflect.ValueOf(o.Value).Kind() == reflect.Pointer && o.Value == l.Value {
			return fmt.Sprintf("losses.%d.%s", i, l.Name)
		}
	}
	return "losses"
}
