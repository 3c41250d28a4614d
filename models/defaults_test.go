package models

import (
	"maps"
	"testing"

	"github.com/unravel-ml/unravel/configs/config"
)

// Configs that name a model and nothing else depend on these numbers.
func TestDefaultWidths(t *testing.T) {
	got := map[string]int{
		"encoder": NewEncoder().Latent, "ae": NewAE().Latent, "vae": NewVAE().Latent,
	}
	if want := map[string]int{"encoder": 10, "ae": 10, "vae": 10}; !maps.Equal(got, want) {
		t.Errorf("code columns by default: %v, want %v", got, want)
	}
	for _, e := range Registry.Entries {
		if err := config.ValidateParts(&struct{ Model any }{e.New()}); err != nil {
			t.Errorf("the defaults of %s: %v", e.Name, err)
		}
	}
}
