package main

import (
	"bytes"
	"path/filepath"
	"strings"
	"testing"

	"github.com/unravel-ml/unravel/internal/long"
	"github.com/unravel-ml/unravel/internal/must"
)

// TestNoticeIsCurrent checks that the stored notice names the modules that are linked into the program.
func TestNoticeIsCurrent(t *testing.T) {
	long.NotShort(t)
	const root = "../.."
	stored := must.Read(t, filepath.Join(root, "NOTICE"))
	var made bytes.Buffer
	if err := write(&made, root); err != nil {
		t.Skipf("modules of other systems are not at hand: %v", err)
	}
	if !bytes.Equal(made.Bytes(), stored) {
		t.Error("NOTICE is not what the modules make: run go run ./tools/notice > NOTICE")
	}
	for _, text := range []string{"Mozilla Public License", "github.com/hashicorp/go-retryablehttp",
		"SIL OPEN FONT LICENSE", "FreeType Project LICENSE", "Apache License"} {
		if !strings.Contains(made.String(), text) {
			t.Errorf("the notice lacks %q", text)
		}
	}
}
