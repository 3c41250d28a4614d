package metrics_test

import (
	"os"
	"testing"

	"github.com/unravel-ml/unravel/internal/leak"
	"github.com/unravel-ml/unravel/internal/long"
)

func TestMain(m *testing.M) { os.Exit(leak.Main(func() int { return long.Run(m) })) }
