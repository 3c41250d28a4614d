package train

import (
	"context"
	"path/filepath"
	"testing"

	"github.com/unravel-ml/unravel/graph/vulkan"
	"github.com/unravel-ml/unravel/internal/must"
)

// Configs without the key and configs with the CPU are equal.
func TestDeviceKey(t *testing.T) {
	hash := func(overrides ...string) string {
		return must.Get(load(t, overrides...).Hash())(t)
	}
	if hash() != hash("train.device=cpu") || hash() == hash("train.device=gpu") || hash("train.device=gpu") == hash("train.device=gpu:1") {
		t.Errorf("hashes %s without a device, %s with the CPU, %s and %s with GPUs",
			hash(), hash("train.device=cpu"), hash("train.device=gpu"), hash("train.device=gpu:1"))
	}
	for _, name := range []string{"gpu:-1", "gpu:01", "cuda", "''"} {
		must.ErrorOf(Load("tiny.yaml", []byte(tiny), "train.device="+name))(t, "want cpu, gpu, gpu:N or auto", name)
	}
	load(t, "train.device=gpu:0")
	if Here(load(t, "train.device=gpu:99")).Train.Device.String() != "cpu" {
		t.Error("a check on this machine asks for GPU 99")
	}
	if _, err := vulkan.Devices(); err == nil {
		return
	}
	must.ErrorOf(Run(context.Background(), load(t, "train.device=gpu"),
		Options{Dir: filepath.Join(t.TempDir(), "run")}))(t, "train.device", "a run on a GPU without one")
	trainIn(t, filepath.Join(t.TempDir(), "auto"), load(t, "train.device=auto", "train.epochs=1"), false)
}
