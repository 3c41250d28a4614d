package cluster

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"os/exec"
	"strings"
	"time"
)

// answer is the longest wait for a scheduler's command.
const answer = time.Minute

// call runs a command of a scheduler and returns its output. The error holds the command's own words. want tells the
// user where to find the command.
func call(ctx context.Context, input []byte, want, command string, args ...string) (string, error) {
	ctx, cancel := context.WithTimeout(ctx, answer)
	defer cancel()
	cmd := exec.CommandContext(ctx, command, args...)
	cmd.WaitDelay = time.Second
	var out, log bytes.Buffer
	cmd.Stdin, cmd.Stdout, cmd.Stderr = bytes.NewReader(input), &out, &log
	err := cmd.Run()
	var ended *exec.ExitError
	switch {
	case errors.Is(err, exec.ErrNotFound):
		return "", fmt.Errorf("there is no command %s on the path; want %s", command, want)
	case ctx.Err() != nil:
		return "", fmt.Errorf("%s: no answer: %w", command, ctx.Err())
	case errors.As(err, &ended):
		words := strings.TrimSpace(log.String() + out.String())
		if words == "" {
			words = ended.Error()
		}
		return "", fmt.Errorf("%s: %s", command, words)
	}
	return out.String(), err
}
