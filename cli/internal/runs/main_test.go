package runs_test

import (
	"testing"

	"github.com/unravel-ml/unravel/cli/internal/clitest"
)

func TestMain(m *testing.M) { clitest.Main(m) }
