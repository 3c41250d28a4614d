package parallel

import (
	"errors"
	"fmt"
	"github.com/unravel-ml/unravel/internal/long"
	"github.com/unravel-ml/unravel/internal/must"
	"runtime"
	"strings"
	"sync/atomic"
	"testing"
	"time"
)

// explode panics if i is at least 40.
func explode(i int) {
	if i >= 40 {
		panic(errLate)
	}
}

var errLate = errors.New("item after 40")

// panicOf returns the panic of f.
func panicOf(f func()) (p any) {
	defer func() { p = recover() }()
	f()
	return nil
}

// A panic of any worker reaches the caller, and the next call works.
func TestForPanics(t *testing.T) {
	long.NotShort(t)
	defer runtime.GOMAXPROCS(runtime.GOMAXPROCS(4))
	for name, body := range map[string]func(ran *atomic.Int32) func(int, int){
		"plain": func(ran *atomic.Int32) func(int, int) {
			return func(_, i int) { ran.Add(1); explode(i) }
		},
		"nested": func(ran *atomic.Int32) func(int, int) {
			return func(_, i int) { ran.Add(1); For(4, func(_, j int) { explode(i) }) }
		},
	} {
		for range 50 {
			var ran atomic.Int32
			p, ok := panicOf(func() { For(100, body(&ran)) }).(*Panic)
			if !ok {
				t.Fatalf("%s: no panic of the caller", name)
			}
			if !errors.Is(p, errLate) || p.item != 40 || ran.Load() != 100 {
				t.Fatalf("%s: panic %v of item %d after %d items, want item 40 of all 100", name, p.Value, p.item, ran.Load())
			}
			if text := p.Error(); !strings.Contains(text, "panic: item after 40\n") || !strings.Contains(text, "parallel.explode(") {
				t.Fatalf("%s: message or place are not in %q", name, text)
			}
		}
	}
	var ran atomic.Int32
	For(100, func(int, int) { ran.Add(1) })
	must.Equal(t, ran.Load(), 100, "100 items after panics")
	if p := panicOf(func() { ForWorkers(1, 100, func(_, i int) { explode(i) }) }); p != errLate {
		t.Errorf("on the caller's goroutine: panic %v, want %v", p, errLate)
	}
}

func TestFor(t *testing.T) {
	defer runtime.GOMAXPROCS(runtime.GOMAXPROCS(4))
	for _, n := range []int{0, 1, 3, 1000} {
		count := make([]int32, n)
		busy := make([]bool, 4)
		For(n, func(worker, i int) {
			if busy[worker] { // the race detector would see this too
				t.Errorf("worker %d runs two items at once", worker)
			}
			busy[worker] = true
			For(3, func(_, j int) { atomic.AddInt32(&count[i], 1) }) // nested calls must not deadlock
			busy[worker] = false
		})
		for i, c := range count {
			if c != 3 {
				t.Fatalf("item %d of %d ran %d times", i, n, c)
			}
		}
	}
	body := func(worker, i int) {}
	if a := testing.AllocsPerRun(1000, func() { For(8, body) }); a >= 1 {
		t.Errorf("For allocates %v times", a)
	}
	for wait := 0; pool.idle.Load() > 0; wait++ { // helpers without jobs sleep
		if time.Sleep(time.Millisecond); wait == 3000 {
			t.Fatalf("%d helpers poll without a job", pool.idle.Load())
		}
	}
}

// The message of a panic in a user's program names the user's innermost function, not the program's main.
func TestWithin(t *testing.T) {
	const stack = "goroutine 1 [running]:\npanic({0x1, 0x2})\n\truntime/panic.go:860 +0x13a\n" +
		"%s(0x1, {0x2, 0x3})\n\tmine/loss.go:49 +0x9d\nmain.main()\n\tmine/main.go:3 +0x1\n"
	for function, want := range map[string]string{
		"main.(*loss).Add": "main.(*loss).Add (mine/loss.go:49)", "github.com/unravel-ml/unravel/losses.Compose": "",
		"example.org/mine/parts.New.func1": "example.org/mine/parts.New.func1 (mine/loss.go:49)",
	} {
		must.Equal(t, within(fmt.Sprintf(stack, function), "example.org/mine"), want, function)
	}
}
