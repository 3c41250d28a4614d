package fetch

import (
	"os"
	"testing"

	"github.com/unravel-ml/unravel/internal/leak"
)

func TestMain(m *testing.M) { os.Exit(leak.Main(m.Run)) }
