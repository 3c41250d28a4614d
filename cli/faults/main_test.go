// Package faults tests how commands survive kills, damaged files, full disks, odd files and lost streams.
package faults

import (
	"testing"

	"github.com/unravel-ml/unravel/cli/internal/clitest"
)

func TestMain(m *testing.M) { clitest.Main(m) }
