package train

import (
	"fmt"
	"strings"

	"github.com/unravel-ml/unravel/configs/config"
	"github.com/unravel-ml/unravel/train/internal/hints"
)

// Hint explains some keys of other programs that a config lacks; empty for an unknown key.
func (c *Config) Hint(key string) string {
	if strings.Contains(key, ".") {
		return fmt.Sprintf("a path of keys stands under set, in a config with a base: set: {%s: ...}", key)
	}
	key = strings.ToLower(key)
	if key == "lr" || key == "learning_rate" {
		return c.Train.Hint(key)
	}
	if key == "beta" {
		for i, l := range c.Losses {
			if l.Name == "kl" {
				return fmt.Sprintf("the beta of a beta-VAE is the weight of the loss kl: losses.%d.kl.weight=4", i)
			}
		}
		return "the beta of a beta-VAE is the weight of the loss kl: losses=[reconstruction, {kl: {weight: 4}}]"
	}
	return hints.Key(key)
}

// Hint is the config's Hint, with keys of the optimiser.
func (s *Settings) Hint(key string) string {
	if key = strings.ToLower(key); key == "lr" || key == "learning_rate" {
		return fmt.Sprintf("the learning rate is the optimiser's: train.optimizer.%s.lr", s.Optimizer.Name)
	}
	return hints.Key(key)
}

// HintValue explains a list where the config wants one value: lists make a sweep.
func (c *Config) HintValue(n *config.Node, want string) string { return hints.Value(n, want) }
