package cli_test

import (
	"context"
	"io"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"firn.dev/internal/term/cli"
)

// cutOff is a pipe whose writer was interrupted in the middle.
type cutOff struct {
	text   string
	cancel context.CancelFunc
}

func (c *cutOff) Read(b []byte) (int, error) {
	if c.text == "" {
		c.cancel()
		return 0, io.EOF
	}
	n := copy(b, c.text)
	c.text = c.text[n:]
	return n, nil
}

// TestConvertInterruptedInput checks that an interrupted input is not converted as if it were
// complete, and that neither the result nor the temporary file is left.
func TestConvertInterruptedInput(t *testing.T) {
	dir := t.TempDir()
	t.Setenv("TMPDIR", dir)
	t.Setenv("TMP", dir)
	ctx, cancel := context.WithCancel(t.Context())
	const line = `{"type":"session","version":3,"id":"s","timestamp":"2026-11-15T02:40:15.042Z","cwd":"/w"}` + "\n"
	var output strings.Builder
	code := cli.Main(ctx, []string{"convert", "-", "--from", "pi", "--to", "codex", "-o", filepath.Join(dir, "out.jsonl")}, cli.Process{
		Stdin: &cutOff{line, cancel}, Stdout: io.Discard, Stderr: &output, Env: os.Getenv,
	})
	if code != 130 || !strings.HasPrefix(output.String(), "firn: interrupted\n") {
		t.Errorf("it exited with %d and printed %q", code, &output)
	}
	if left, err := os.ReadDir(dir); err != nil || len(left) > 0 {
		t.Errorf("remaining: %v, %v", left, err)
	}
}
