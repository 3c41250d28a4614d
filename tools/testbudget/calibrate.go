package main

import (
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"runtime"
	"slices"
	"sync"
	"time"

	"github.com/unravel-ml/unravel/internal/cputime"
)

const (
	rounds  = 15 // number of timings of the workload; the median counts
	perUnit = 30 // workloads per unit
)

// calibrate returns the unit of core time: perUnit times the median over rounds timings of the workload. All cores work
// at the same time, as in go test. On a virtual machine, the speed of a core varies by half from second to second; the
// minimum would compare the tests with its best moment. A unit is about a second on a server of 2025.
func calibrate() time.Duration {
	var times []time.Duration
	for range rounds {
		begin := cputime.Process()
		var cores sync.WaitGroup
		for range runtime.NumCPU() {
			cores.Go(workload)
		}
		cores.Wait()
		times = append(times, (cputime.Process()-begin)/time.Duration(runtime.NumCPU()))
	}
	slices.Sort(times)
	return perUnit * times[rounds/2]
}

// workload does the typical work of tests: dense products, JSON and files. It must never change, because budgets are
// multiples of its time.
func workload() {
	products()
	texts()
	files()
}

// products multiplies matrices in portable code.
func products() {
	const n = 192
	a, b, c := make([]float32, n*n), make([]float32, n*n), make([]float32, n*n)
	for i := range a {
		a[i], b[i] = float32(i%7), float32(i%5)
	}
	for range 6 {
		for i := range n {
			for k := range n {
				x := a[i*n+k]
				row, out := b[k*n:(k+1)*n], c[i*n:(i+1)*n]
				for j, y := range row {
					out[j] += x * y
				}
			}
		}
	}
	if c[n+1] < 0 {
		panic("testbudget: a sum of positive products is negative")
	}
}

// texts encodes and decodes JSON.
func texts() {
	type record struct {
		Name   string
		Values []float64
		Parts  map[string]int
	}
	var list []record
	for i := range 200 {
		r := record{Name: fmt.Sprint("record ", i), Parts: map[string]int{"a": i, "b": 2 * i}}
		for j := range 40 {
			r.Values = append(r.Values, float64(i*j)/3)
		}
		list = append(list, r)
	}
	text, err := json.Marshal(list)
	if err != nil {
		panic(err)
	}
	for range 5 {
		var again []record
		if err := json.Unmarshal(text, &again); err != nil {
			panic(err)
		}
	}
}

// files writes, renames and reads small files.
func files() {
	dir, err := os.MkdirTemp("", "testbudget-")
	if err != nil {
		panic(err)
	}
	defer os.RemoveAll(dir)
	content := make([]byte, 16<<10)
	for i := range 20 {
		name := filepath.Join(dir, fmt.Sprint(i))
		if err := os.WriteFile(name+".new", content, 0o600); err != nil {
			panic(err)
		}
		if err := os.Rename(name+".new", name); err != nil {
			panic(err)
		}
		if _, err := os.ReadFile(name); err != nil {
			panic(err)
		}
	}
}
