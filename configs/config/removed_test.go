package config

import (
	"strings"
	"testing"

	"github.com/unravel-ml/unravel/internal/must"
)

// The error for each removed key names its replacement, and docs/promise.md lists the key.
func TestRemovedKeys(t *testing.T) {
	page := must.Read(t, "../../docs/promise.md")
	_, list, _ := strings.Cut(string(page), "These keys are gone:")
	for key, instead := range removed {
		n := must.Get(Parse("a.yaml", []byte("name: a\n"+key+": 1\n")))(t)
		var settings struct {
			Name string `yaml:"name" doc:"name"`
		}
		if err := n.Decode(&settings); err == nil || err.Error() != "a.yaml:2:1: "+key+`: unknown key "`+key+`"; `+instead {
			t.Errorf("%s: %v", key, err)
		}
		if !strings.Contains(list, key+"`") {
			t.Errorf("docs/promise.md does not list %s", key)
		}
	}
}
