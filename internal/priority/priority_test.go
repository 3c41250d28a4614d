package priority

import (
	"os"
	"os/exec"
	"runtime"
	"strconv"
	"strings"
	"testing"

	"github.com/unravel-ml/unravel/internal/must"
)

const asProgram = "UNRAVEL_TEST_AS_PROGRAM"

// After Lower, all threads of the process have the low priority.
func TestLower(t *testing.T) {
	if runtime.GOOS != "linux" {
		t.Skip("the table of processes is that of Linux")
	}
	if os.Getenv(asProgram) != "" {
		Lower()
		list, err := os.ReadDir("/proc/self/task")
		if err != nil || len(list) < 2 {
			t.Fatal(len(list), err)
		}
		for _, task := range list {
			must.Equal(t, nicenessOf(t, "/proc/self/task/"+task.Name()+"/stat"), niceness, "thread", task.Name(), "niceness")
		}
		return
	}
	if n := nicenessOf(t, "/proc/self/stat"); n > niceness {
		t.Skipf("the tests have niceness %d already, which only root may lower", n)
	}
	cmd := exec.Command(os.Args[0], "-test.run=TestLower$")
	cmd.Env = append(os.Environ(), asProgram+"=1")
	if out, err := cmd.CombinedOutput(); err != nil {
		t.Errorf("%v\n%s", err, out)
	}
}

// nicenessOf reads the niceness from a process table entry.
func nicenessOf(t *testing.T, path string) int {
	t.Helper()
	text := must.Read(t, path)
	_, after, _ := strings.Cut(string(text), ") ")
	fields := strings.Fields(after)
	if len(fields) < 17 {
		t.Fatalf("%s: %q", path, text)
	}
	return must.Get(strconv.Atoi(fields[16]))(t)
}
