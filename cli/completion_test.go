package cli_test

import (
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/unravel-ml/unravel/cli/internal/clitest"
	"github.com/unravel-ml/unravel/internal/long"
	"github.com/unravel-ml/unravel/internal/must"
)

// Completion offers commands, flags, configs, keys and names, and otherwise files.
func TestComplete(t *testing.T) {
	long.NotShort(t)
	for line, want := range map[string]string{
		"tr": "train", "completion ": "bash zsh fish", "help ver": "version", "data ": "list fetch check show export ask", "data fetch dsp": "dsprites", "list losses variance ": "",
		"train quicks": "quickstart", "train quickstart train.epoch": "train.epochs= train.epoch_steps=", "train --run x train.threa": "train.threads=",
		"train --res": "--resume", "train --run ": "", "table enriching-table2 ": "", "table enriching-table2 --scale f": "full",
		"eval --metrics modu": "modularity", "eval --codes ": "", "list mod": "models", "list schema ": "experiment sweep table", "list models moco": "moco moco-v2", "data show spr": "sprites",
		"mimosa equ": "equalize=", "decode --what ": "samples traversals grid interpolation", "decode --sca": "--scale", "decode --scale ": "", "dec": "decode",
		"exp": "export", "export --format ": "safetensors onnx", "export --part ": "encoder decoder", "export --layout p": "pytorch", "export --run ": "",
		"import quicks": "quickstart", "import --from x train.threa": "train.threads=", "import --par": "--partial", "complete": "", "wor": "", "runs ": "", "ser": "serve", "pul": "pull", "pull lsbd": "lsbd-vae-arrow lsbd-vae-square", "pull --fr": "--from", "sweep x.yaml --on s": "slurm", "sweep x.yaml --arr": "--array-limit", "table --inde": "--index", "table --index --no-w": "--no-wait", "serve --li": "--listen", "prev": "",
	} {
		words := strings.Split(line, " ")
		must.EqualSlices(t, strings.Fields(clitest.OK(t, append([]string{"complete", "--"}, words...)...).Out), strings.Fields(want), line)
	}
	if got := strings.Fields(clitest.OK(t, "complete", "--").Out); len(got) < 10 || got[0] != "train" || slices.Contains(got, "worker") {
		t.Errorf("commands: %q", got)
	}
	clitest.Mistake(t, clitest.Run(t, "completion", "csh"), 2, "csh", "bash", "zsh", "fish")
}

// The scripts work in their shells, if this machine has the shells.
func TestCompletionScripts(t *testing.T) {
	program := must.Get(os.Executable())(t)
	folder := t.TempDir()
	if err := os.Symlink(program, filepath.Join(folder, "unravel")); err != nil {
		t.Skip("no links here:", err)
	}
	t.Setenv(clitest.AsProgram, "1")
	t.Setenv("PATH", folder+string(os.PathListSeparator)+os.Getenv("PATH"))
	bash := `source <(unravel completion bash); COMP_LINE="unravel train quicks"; COMP_POINT=${#COMP_LINE}; COMP_WORDS=(unravel train quicks); COMP_CWORD=2; _unravel; echo "${COMPREPLY[@]}"
COMP_LINE="unravel list "; COMP_POINT=${#COMP_LINE}; COMP_WORDS=(unravel list ""); COMP_CWORD=2; _unravel; echo "${COMPREPLY[0]}"; complete -p unravel`
	zsh := `compdef() { print $2 $1 }; compadd() { print -- "$@[-1]" }; _files() { print files }; source <(unravel completion zsh)
words=(unravel train quicks); CURRENT=3; _unravel; words=(unravel list ""); CURRENT=3; _unravel; words=(unravel train train.epochs); _unravel; words=(unravel eval --codes ""); CURRENT=4; _unravel`
	fish := `unravel completion fish | source; complete -C "unravel train quicks"; complete -C "unravel data show spr"; complete -C "unravel completion "; complete -C "unravel eval --codes completion_t"`
	for _, c := range []struct{ shell, script, want string }{
		{"bash", bash, "quickstart\nmodels\ncomplete -o default -F _unravel unravel\n"},
		{"zsh", zsh, "unravel _unravel\nquickstart\nschema\ntrain.epochs=\nfiles\n"},
		{"fish", fish, "quickstart\nsprites\nbash\nfish\nzsh\ncompletion_test.go\n"},
	} {
		t.Run(c.shell, func(t *testing.T) {
			path, err := exec.LookPath(c.shell)
			if err != nil {
				t.Skip(c.shell, "is not here")
			}
			shell := exec.Command(path, "-c", c.script)
			shell.Env = append(os.Environ(), "HOME="+folder)
			out, err := shell.Output()
			if err != nil || string(out) != c.want {
				t.Errorf("%q, want %q; %v", out, c.want, err)
			}
		})
	}
}
