package priority

import (
	"os"
	"os/exec"
	"runtime"
	"strings"
	"testing"
)

const asProgram = "UNRAVEL_TEST_AS_PROGRAM"

// A process that lowers its priority has it on all its threads.
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
			text, err := os.ReadFile("/proc/self/task/" + task.Name() + "/stat")
			_, after, _ := strings.Cut(string(text), ") ")
			if fields := strings.Fields(after); err != nil || len(fields) < 17 || fields[16] != "10" {
				t.Errorf("thread %s: niceness of %q, %v; want 10", task.Name(), after, err)
			}
		}
		return
	}
	cmd := exec.Command(os.Args[0], "-test.run=TestLower$")
	cmd.Env = append(os.Environ(), asProgram+"=1")
	if out, err := cmd.CombinedOutput(); err != nil {
		t.Errorf("%v\n%s", err, out)
	}
}
