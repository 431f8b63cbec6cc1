package main

import (
	"context"
	"io"
	"strings"
	"testing"

	"firn.dev/internal/term/cli"
)

// silent is a pipe that is never written to. A reader of it must be interrupted.
type silent struct {
	interrupt context.CancelFunc
	end       <-chan struct{}
}

func (s *silent) Read([]byte) (int, error) {
	s.interrupt()
	<-s.end
	return 0, io.EOF
}

// TestInterruptWhileReadingStdin interrupts commands that wait for standard input: they end.
func TestInterruptWhileReadingStdin(t *testing.T) {
	home := t.TempDir()
	env := func(name string) string { return map[string]string{"FIRN_HOME": home, "HOME": home}[name] }
	run := func(ctx context.Context, in io.Reader, args ...string) (int, string) {
		var output strings.Builder
		code := cli.Main(ctx, args, cli.Process{Stdin: in, Stdout: &output, Stderr: &output, Env: env, Open: open, Providers: providers, Build: build()})
		return code, output.String()
	}
	if code, output := run(t.Context(), nil, "new", "--title", "here"); code != 0 {
		t.Fatal(output)
	}
	end := make(chan struct{})
	defer close(end)
	for _, command := range []string{
		"append here", "import -", "import - --from pi", "convert - --from pi --to codex", "memory add -", "chat -p", "backup verify -", "backup restore - elsewhere",
	} {
		ctx, interrupt := context.WithCancel(t.Context())
		if code, output := run(ctx, &silent{interrupt, end}, strings.Fields(command)...); code != 130 {
			t.Errorf("firn %s exited with %d and printed %q", command, code, output)
		}
		interrupt()
	}
}
