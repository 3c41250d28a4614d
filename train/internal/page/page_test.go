package page

import (
	"os/exec"
	"testing"

	"github.com/unravel-ml/unravel/internal/must"
)

// A shell parses the command that repeats a run into the intended words.
func TestAgain(t *testing.T) {
	for dir, want := range map[string]string{
		"runs/quickstart":   "unravel train runs/quickstart/config.yaml --run runs/quickstart-again",
		"runs/quickstart//": "unravel train runs/quickstart/config.yaml --run runs/quickstart-again",
		"-x":                "unravel train ./-x/config.yaml --run ./-x-again",
		"it's here":         `unravel train 'it'\''s here/config.yaml' --run 'it'\''s here-again'`,
		"a=b":               "cp a=b/config.yaml again.yaml && unravel train again.yaml --run a=b-again",
	} {
		must.Equal(t, again(dir), want, dir)
	}
	sh, err := exec.LookPath("sh")
	if err != nil {
		t.Skip("no shell here")
	}
	for _, dir := range []string{"a b", "$(date)", "`date`", "'", `"\`, "a\nb", "~", "*", "#", "🦩;&|<>", "!x"} {
		out, err := exec.Command(sh, "-c", "unravel() { printf '%s\\0' \"$@\"; }\n"+again(dir)).Output()
		if want := "train\x00" + dir + "/config.yaml\x00--run\x00" + dir + "-again\x00"; err != nil || string(out) != want {
			t.Errorf("%q: %q, want %q, %v", dir, out, want, err)
		}
	}
}
