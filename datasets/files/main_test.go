package files_test

import (
	"os"
	"testing"

	"github.com/unravel-ml/unravel/conformance"
	"github.com/unravel-ml/unravel/datasets"
	"github.com/unravel-ml/unravel/internal/long"
)

func TestMain(m *testing.M) { os.Exit(long.Run(m)) }

// conform runs the checks of package conformance for data sets with default settings.
func conform(t *testing.T, d datasets.Dataset) {
	t.Helper()
	if err := conformance.CheckImages(d); err != nil {
		t.Error(err)
	}
}
