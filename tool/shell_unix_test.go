//go:build unix

package tool_test

import (
	"bufio"
	"context"
	"errors"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"

	"firn.dev"
	"firn.dev/tool"
)

type commandDetails struct {
	ExitCode            *int
	Ended               string
	TimedOut, Cancelled bool
	Bytes, Dropped      int64
}

// shell returns a shell with a long grace period.
func shell(t *testing.T, dir string) tool.Tool {
	t.Helper()
	return tool.Shell(tool.ShellOptions{Dir: dir, Env: []string{"PATH=" + os.Getenv("PATH"), "GREETING=hello"}, Grace: time.Minute})
}

// impatient returns a shell with a short grace period, for commands that do not end by
// themselves.
func impatient(t *testing.T, dir string) tool.Tool {
	t.Helper()
	return tool.Shell(tool.ShellOptions{Dir: dir, Env: []string{"PATH=" + os.Getenv("PATH")}, Grace: 50 * time.Millisecond})
}

func TestShell(t *testing.T) {
	dir := tree(t, map[string]string{"a.txt": "content\n"})
	for name, c := range map[string]struct{ command, want string }{
		"output":       {"echo hi", "hi\n"},
		"no line end":  {"printf hi", "hi"},
		"nothing":      {"true", "[no output]"},
		"both in turn": {"echo 1; echo 2 >&2; echo 3; echo 4 >&2", "1\n2\n3\n4\n"},
		"in its place": {"cat a.txt", "content\n"},
		"environment":  {"echo $GREETING; env | grep -v -e ^PWD= -e ^_= -e ^SHLVL= -e ^OLDPWD= -e ^FIRN_COMMAND= | wc -l | tr -d ' '", "hello\n2\n"},
		"no input":     {"cat; echo end", "end\n"},
		"bad bytes":    {`printf 'a\377\000b'`, "a\ufffd\ufffdb"},
		"quotes":       {`echo "it's" 'a "test"'`, "it's a \"test\"\n"},
	} {
		t.Run(name, func(t *testing.T) {
			r := result(t, shell(t, dir), args{"command": c.command})
			if got := firn.JoinText(r.Parts); got != c.want || r.IsError {
				t.Errorf("got %q, want %q; an error: %v", got, c.want, r.IsError)
			}
			if d := details[commandDetails](t, r); d.ExitCode == nil || *d.ExitCode != 0 {
				t.Errorf("the details are %s", r.Details)
			}
		})
	}
}

func TestShellReportsFailure(t *testing.T) {
	r := result(t, shell(t, t.TempDir()), args{"command": "echo broken; exit 3"})
	if got := firn.JoinText(r.Parts); got != "broken\n[exit code 3]" || !r.IsError {
		t.Errorf("got %q, an error: %v", got, r.IsError)
	}
	if d := details[commandDetails](t, r); d.ExitCode == nil || *d.ExitCode != 3 {
		t.Errorf("the details are %s", r.Details)
	}
	r = result(t, shell(t, t.TempDir()), args{"command": "printf x; kill -9 $$"})
	if got := firn.JoinText(r.Parts); got != "x\n[the command was ended: signal: killed]" || !r.IsError {
		t.Errorf("got %q, an error: %v", got, r.IsError)
	}
	if d := details[commandDetails](t, r); d.ExitCode != nil || d.Ended != "signal: killed" {
		t.Errorf("the details are %s", r.Details)
	}
}

func TestShellEnvironment(t *testing.T) {
	t.Setenv("FIRN_TEST_SECRET", "secret")
	bare := tool.Shell(tool.ShellOptions{Dir: t.TempDir()})
	if got := call(t, bare, args{"command": "echo [$FIRN_TEST_SECRET$HOME]"}); got != "[]\n" {
		t.Errorf("got %q", got)
	}
}

func TestShellRefuses(t *testing.T) {
	for _, a := range []args{{"command": " "}, {"command": "a\x00b"}, {"command": "true", "timeout": -1}, {"command": strings.Repeat("x", 200_000)}} {
		if err := fails(t, shell(t, t.TempDir()), a); !errors.Is(err, firn.ErrInvalid) {
			t.Errorf("%v", err)
		}
	}
	fails(t, shell(t, filepath.Join(t.TempDir(), "none")), args{"command": "true"})
	fails(t, tool.Shell(tool.ShellOptions{Program: []string{"no-such-program"}}), args{"command": "true"})
}

func TestShellRunsAnotherProgram(t *testing.T) {
	echo := tool.Shell(tool.ShellOptions{Program: []string{"echo", "-n", "the command is:"}})
	if got := call(t, echo, args{"command": "$HOME; x"}); got != "the command is: $HOME; x" {
		t.Errorf("got %q", got)
	}
}

// ran is the result of a call.
type ran struct {
	tool.Result
	text string
	err  error
}

// start runs a tool in the background.
func start(ctx context.Context, t *testing.T, tl tool.Tool, a args) <-chan ran {
	t.Helper()
	raw, done := marshal(t, a), make(chan ran, 1)
	go func() {
		r, err := tl.Run(ctx, raw)
		done <- ran{r, firn.JoinText(r.Parts), err}
	}()
	return done
}

// life is a pipe that processes hold open: it ends when the last of them does.
type life struct {
	t *testing.T
	r *bufio.Reader
}

// await opens the pipe once a process holds it, and waits for its first line.
func await(t *testing.T, path string) *life {
	t.Helper()
	f, err := os.Open(path)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { f.Close() })
	l := &life{t, bufio.NewReader(f)}
	if line, err := l.r.ReadString('\n'); err != nil || line != "up\n" {
		t.Fatalf("the first line is %q, %v", line, err)
	}
	return l
}

// ends waits until no process holds the pipe.
func (l *life) ends() {
	l.t.Helper()
	if _, err := l.r.ReadByte(); err != io.EOF {
		l.t.Errorf("the end of life is %v", err)
	}
}

func fifo(t *testing.T, dir string) string {
	t.Helper()
	path := filepath.Join(dir, "alive")
	if err := syscall.Mkfifo(path, 0o600); err != nil {
		t.Fatal(err)
	}
	return path
}

// stubborn is a command that prints a line, has a grandchild that ignores SIGTERM, and
// waits for it.
const stubborn = `echo begun; exec 3>alive; (trap "" TERM; echo up >&3; while :; do sleep 100; done) & wait`

func TestTimeoutKillsGrandchildren(t *testing.T) {
	dir := t.TempDir()
	path := fifo(t, dir)
	done := start(t.Context(), t, impatient(t, dir), args{"command": stubborn, "timeout": 5})
	alive := await(t, path)
	r := <-done
	alive.ends()
	if r.err != nil || r.text != "begun\n[the command was ended after 5s, as it took too long]" || !r.IsError {
		t.Errorf("got %q, an error: %v, %v", r.text, r.IsError, r.err)
	}
	if d := details[commandDetails](t, r.Result); !d.TimedOut || d.Cancelled {
		t.Errorf("the details are %s", r.Details)
	}
}

func TestTimeoutsAreBounded(t *testing.T) {
	short := tool.Shell(tool.ShellOptions{Dir: t.TempDir(), MaxTimeout: 100 * time.Millisecond, Grace: 50 * time.Millisecond})
	for _, timeout := range []any{1e300, 3600, 0} {
		has(t, call(t, short, args{"command": "exec /bin/sleep 100", "timeout": timeout}), "ended after 100ms")
	}
}

func TestCancelEndsACommand(t *testing.T) {
	dir := t.TempDir()
	path := fifo(t, dir)
	ctx, cancel := context.WithCancelCause(t.Context())
	done := start(ctx, t, impatient(t, dir), args{"command": stubborn})
	alive := await(t, path)
	enough := errors.New("enough")
	cancel(enough)
	o := <-done
	alive.ends()
	if !errors.Is(o.err, enough) {
		t.Errorf("the error is %v", o.err)
	}
	has(t, o.text, "begun\n")
	if d := details[commandDetails](t, o.Result); !d.Cancelled || !o.IsError {
		t.Errorf("the details are %s", o.Details)
	}
}

func TestCommandHandlesSIGTERM(t *testing.T) {
	dir := t.TempDir()
	path := fifo(t, dir)
	ctx, cancel := context.WithCancel(t.Context())
	done := start(ctx, t, shell(t, dir), args{"command": `trap "echo tidied; exit 0" TERM; exec 3>alive; echo up >&3; while :; do sleep 100 & wait; done`})
	alive := await(t, path)
	cancel()
	has(t, (<-done).text, "tidied\n")
	alive.ends()
}

// TestBackgroundProcessesAreEnded checks a child that keeps the output open, and one
// that does not.
func TestBackgroundProcessesAreEnded(t *testing.T) {
	for name, redirect := range map[string]string{"with the output": "", "without": ">/dev/null 2>&1"} {
		t.Run(name, func(t *testing.T) {
			dir := t.TempDir()
			path := fifo(t, dir)
			done := start(t.Context(), t, impatient(t, dir), args{"command": `echo begun; sh -c 'trap "" TERM; exec 3>alive; echo up >&3; touch ready; exec sleep 1000' ` + redirect + ` & while [ ! -e ready ]; do sleep 0.01; done`})
			alive := await(t, path)
			if r := <-done; r.err != nil || r.text != "begun\n" {
				t.Errorf("got %q, %v", r.text, r.err)
			}
			alive.ends()
		})
	}
}

func TestLargeOutputKeepsItsEnds(t *testing.T) {
	small := tool.Shell(tool.ShellOptions{Env: []string{"PATH=" + os.Getenv("PATH")}, MaxOutput: 1000})
	r := result(t, small, args{"command": "seq 1 100000"})
	text := firn.JoinText(r.Parts)
	if !strings.HasPrefix(text, "1\n2\n3\n") || !strings.HasSuffix(text, "\n99999\n100000\n") {
		t.Errorf("the ends are not kept: %q", text)
	}
	has(t, text, "[587,895 bytes of output dropped here]")
	if d := details[commandDetails](t, r); d.Bytes != 588_895 || d.Dropped != 587_895 {
		t.Errorf("the details are %s", r.Details)
	}
	// One line without an end, of two-byte characters, truncated within a character at both
	// ends.
	text = call(t, small, args{"command": `printf x; i=0; while [ $i -lt 2000 ]; do printf é; i=$((i+1)); done; printf x`})
	lacks(t, text, "\ufffd")
	has(t, text, "xéé", "éé\n[", "bytes of output dropped here]\néé", "éx")
}

func TestHugeOutputIsNotBuffered(t *testing.T) {
	r := result(t, shell(t, t.TempDir()), args{"command": "head -c 20000000 /dev/zero | tr '\\0' x"})
	if text := firn.JoinText(r.Parts); len(text) > 1<<20+100 {
		t.Errorf("%d bytes are kept", len(text))
	}
	if d := details[commandDetails](t, r); d.Bytes != 20_000_000 || d.Dropped != 20_000_000-1<<20 {
		t.Errorf("the details are %s", r.Details)
	}
}

func TestManyCommandsAtOnce(t *testing.T) {
	sh := shell(t, t.TempDir())
	var all []<-chan ran
	for range 10 {
		all = append(all, start(t.Context(), t, sh, args{"command": "echo one; echo two"}))
	}
	for _, done := range all {
		if r := <-done; r.err != nil || r.text != "one\ntwo\n" {
			t.Errorf("got %q, %v", r.text, r.err)
		}
	}
}

// shellChild names the directory in which TestShellChild runs a command.
const shellChild = "FIRN_SHELL_CHILD"

// TestShellChild is the process to be killed. It does nothing unless it is started for
// that.
func TestShellChild(t *testing.T) {
	if dir := os.Getenv(shellChild); dir != "" {
		call(t, shell(t, dir), args{"command": stubborn})
	}
}

// TestKilledCommandsEnd kills the process that runs a command with SIGKILL: no process of
// the command keeps running.
func TestKilledCommandsEnd(t *testing.T) {
	dir := t.TempDir()
	path := fifo(t, dir)
	child := exec.Command(os.Args[0], "-test.run", "^TestShellChild$")
	child.Env = append(os.Environ(), shellChild+"="+dir)
	if err := child.Start(); err != nil {
		t.Fatal(err)
	}
	alive := await(t, path)
	if err := child.Process.Kill(); err != nil {
		t.Fatal(err)
	}
	_ = child.Wait()
	alive.ends()
}

// TestShellWithoutAWatcher checks that commands run without a shell for the watcher.
func TestShellWithoutAWatcher(t *testing.T) {
	echo, err := exec.LookPath("echo")
	if err != nil {
		t.Fatal(err)
	}
	t.Setenv("PATH", t.TempDir())
	if got := call(t, tool.Shell(tool.ShellOptions{Program: []string{echo, "-n"}}), args{"command": "hi"}); got != "hi" {
		t.Errorf("got %q", got)
	}
}
