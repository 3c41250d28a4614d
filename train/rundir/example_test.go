package rundir_test

import (
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"

	"github.com/unravel-ml/unravel/train/rundir"
)

func Example() {
	dir, err := os.MkdirTemp("", "runs")
	if err != nil {
		fmt.Println(err)
		return
	}
	defer os.RemoveAll(dir)
	run, err := rundir.Create(filepath.Join(dir, "square"))
	if err != nil {
		fmt.Println(err)
		return
	}
	err = run.Write(rundir.Config, func(w io.Writer) error {
		_, err := io.WriteString(w, "name: square\n")
		return err
	})
	if err != nil {
		fmt.Println(err)
		return
	}
	log, err := run.ResumeLog("log.jsonl", 0)
	if err != nil {
		fmt.Println(err)
		return
	}
	for step := range 3 {
		if err := log.Append(map[string]any{"step": step, "loss": 1 / float64(step+1)}); err != nil {
			fmt.Println(err)
			return
		}
	}
	if err := errors.Join(log.Close(), run.Close()); err != nil {
		fmt.Println(err)
		return
	}

	run, err = rundir.Open(run.Dir())
	if err != nil {
		fmt.Println(err)
		return
	}
	log, err = run.ResumeLog("log.jsonl", 0) // continue from the checkpoint of step 0
	if err != nil {
		fmt.Println(err)
		return
	}
	text, err := run.Read("log.jsonl")
	fmt.Printf("%s%v\n", text, errors.Join(err, log.Close(), run.Close()))
	// Output:
	// {"loss":1,"step":0}
	// <nil>
}
