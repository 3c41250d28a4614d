// Command testbudget runs tests, prints the slowest ones, and fails if they take more than their budget.
//
//	go run ./tools/testbudget                            the default tests, with their budget
//	go run ./tools/testbudget -suite short -- -short     others; what follows the flags goes to go test
//	go run ./tools/testbudget -suite default -update     the budget becomes what the tests take now
//	go test -json ./... | go run ./tools/testbudget -from -
//
// Budgets are core times in units of a calibration: a fixed workload that runs before and after the tests. A budget is
// therefore valid on every machine. Each package, and the total, may exceed its budget by a quarter. With -from, the
// tests have already run, and times are wall-clock times.
package main

import (
	"errors"
	"flag"
	"fmt"
	"io"
	"os"
	"os/exec"
	"strings"
	"time"
)

func main() {
	if len(os.Args) > 1 && os.Args[1] == measureCommand {
		os.Exit(measure(os.Args[2:]))
	}
	if err := run(); err != nil {
		fmt.Fprintln(os.Stderr, "testbudget:", err)
		os.Exit(1)
	}
}

// budgetsFile is the path of the budgets in the module.
const budgetsFile = "tools/testbudget/budgets.json"

func run() error {
	suite := flag.String("suite", "default", "name of the budget")
	update := flag.Bool("update", false, "store what the tests take as their budget")
	limit := flag.Duration("limit", 8*time.Minute, "time after which a package is stopped")
	from := flag.String("from", "",
		"read the output of go test -json from a file, or - for standard input, instead of running tests")
	keep := flag.String("json", "", "also write the output of go test -json to a file")
	flag.Parse()
	budgets, err := readBudgets(budgetsFile)
	if err != nil {
		return err
	}
	unit := calibrate()
	var r *results
	if *from != "" {
		r, err = readFrom(*from)
	} else {
		r, err = test(flag.Args(), *limit, *keep)
	}
	if err != nil {
		return err
	}
	unit = (unit + calibrate()) / 2
	r.print(os.Stdout, unit)
	if failed := r.failed(); len(failed) > 0 {
		return fmt.Errorf("tests failed in %s", strings.Join(failed, ", "))
	}
	if *update {
		budgets[*suite] = r.budget(unit)
		return budgets.write(budgetsFile)
	}
	budget, ok := budgets[*suite]
	if !ok {
		return fmt.Errorf("%s has no suite %q; -update makes one", budgetsFile, *suite)
	}
	return budget.check(r, unit)
}

func readFrom(name string) (*results, error) {
	if name == "-" {
		return read(os.Stdin)
	}
	f, err := os.Open(name)
	if err != nil {
		return nil, err
	}
	defer f.Close() // only read
	return read(f)
}

// test runs go test, with each test binary under measure.
func test(args []string, limit time.Duration, keep string) (*results, error) {
	if len(args) == 0 {
		args = []string{"./..."}
	}
	self, err := os.Executable()
	if err != nil {
		return nil, err
	}
	times, err := os.MkdirTemp("", "testbudget-")
	if err != nil {
		return nil, err
	}
	defer os.RemoveAll(times)
	wrapper := fmt.Sprintf("%s %s %s %v", self, measureCommand, times, limit)
	cmd := exec.Command("go", append([]string{"test", "-json", "-count=1", "-timeout=0", "-exec", wrapper}, args...)...)
	cmd.Stderr = os.Stderr
	out, err := cmd.StdoutPipe()
	if err != nil {
		return nil, err
	}
	var in io.Reader = out
	if keep != "" {
		f, err := os.Create(keep)
		if err != nil {
			return nil, err
		}
		defer f.Close()
		in = io.TeeReader(out, f)
	}
	if err := cmd.Start(); err != nil {
		return nil, err
	}
	r, reading := read(in)
	_, rest := io.Copy(io.Discard, in)
	waiting := cmd.Wait()
	if err := errors.Join(reading, rest); err != nil {
		return nil, err
	}
	if waiting != nil && len(r.failed()) == 0 {
		return nil, fmt.Errorf("go test: %w", waiting)
	}
	return r, r.readTimes(times)
}
