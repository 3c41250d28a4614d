package serve

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"os/exec"
	"strings"
	"time"

	"github.com/unravel-ml/unravel/internal/disk"
)

// ownFault is an error of this program or machine, not of a run.
type ownFault struct{ error }

func (f ownFault) Unwrap() error { return f.error }

// maxPreview bounds what a preview may hold.
const maxPreview = 64 << 20

// PreviewProcess returns a function for [Options] that computes previews in a process of its own, with one thread: a checkpoint that
// takes much memory, or is broken, ends no server. It starts the program with args and the run's folder; the program prints
// [NewPreview].
func PreviewProcess(program string, args ...string) func(ctx context.Context, dir string) ([]byte, error) {
	return func(ctx context.Context, dir string) ([]byte, error) {
		cmd := exec.CommandContext(ctx, program, append(args[:len(args):len(args)], disk.Argument(dir))...)
		cmd.Env = append(cmd.Environ(), "GOMAXPROCS=1")
		cmd.WaitDelay = time.Second
		out, said := &bounded{most: maxPreview}, &bounded{most: 4 << 10, forgive: true}
		cmd.Stdout, cmd.Stderr = out, said
		if err := cmd.Run(); err != nil {
			if ctx.Err() != nil {
				return nil, ctx.Err()
			}
			if !errors.As(err, new(*exec.ExitError)) {
				return nil, ownFault{err}
			}
			text := strings.TrimPrefix(strings.TrimSpace(said.String()), "unravel: ")
			if text == "" {
				text = err.Error()
			}
			return nil, errors.New(text)
		}
		return out.Bytes(), nil
	}
}

// bounded keeps what is written, up to a size.
type bounded struct {
	bytes.Buffer
	most    int
	forgive bool // what is more is dropped
}

func (b *bounded) Write(p []byte) (int, error) {
	switch {
	case b.Len()+len(p) <= b.most:
	case b.forgive:
		return len(p), nil
	default:
		return 0, fmt.Errorf("more than %d bytes", b.most)
	}
	return b.Buffer.Write(p)
}
