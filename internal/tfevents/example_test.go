package tfevents_test

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"time"

	"github.com/unravel-ml/unravel/internal/tfevents"
)

func Example() {
	dir, err := os.MkdirTemp("", "run")
	if err != nil {
		fmt.Println(err)
		return
	}
	defer os.RemoveAll(dir)
	path := filepath.Join(dir, "events.out.tfevents.0")
	w, err := tfevents.Create(path, time.Now)
	if err != nil {
		fmt.Println(err)
		return
	}
	fmt.Println(errors.Join(w.Scalar("loss/kl", 1, 4.5), w.Scalar("loss/kl", 2, 4.25), w.Close()))

	w, err = tfevents.Resume(path, 1, time.Now, nil) // removes step 2
	if err != nil {
		fmt.Println(err)
		return
	}
	fmt.Println(errors.Join(w.Scalar("loss/kl", 2, 4), w.Close()))
	// Output:
	// <nil>
	// <nil>
}
