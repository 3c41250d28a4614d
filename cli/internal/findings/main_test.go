package findings

import (
	"os"
	"testing"

	"github.com/unravel-ml/unravel/internal/long"
)

func TestMain(m *testing.M) { os.Exit(long.Run(m)) }
