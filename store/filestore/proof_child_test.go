package filestore_test

import (
	"bufio"
	"fmt"
	"io"
	"os"
	"os/exec"
	"strings"
	"sync"
	"testing"

	"firn.dev/store/filestore"
)

// child is the test binary, started once more to be another process: what it
// says on its output is one line each, words apart by a space.
type child struct {
	t     testing.TB
	cmd   *exec.Cmd
	stdin io.WriteCloser
	lines *bufio.Scanner
}

// The environment of a child: which role it plays, and with what arguments.
const (
	envRole = "FIRN_PROOF_ROLE"
	envArgs = "FIRN_PROOF_ARGS"
	argSep  = "\x1f"
)

// say is how a child speaks; what it says beyond that is a complaint.
const say = "say: "

// roles are what a child can be. A role returns when it is done.
var roles = map[string]func(t *testing.T, p *player){
	"writer":   writerRole,
	"appender": appenderRole,
	"follower": followerRole,
	"claimer":  claimerRole,
}

// player is a child as it sees itself.
type player struct {
	args []string
	mu   sync.Mutex
	cues chan struct{} // what the parent says
}

// say tells the parent something, with one system call: also if the child is
// killed right afterwards, the parent hears it. The dot at the end shows that
// the line is whole.
func (p *player) say(words ...any) {
	line := say + fmt.Sprintln(append(words, ".")...)
	p.mu.Lock()
	defer p.mu.Unlock()
	if _, err := os.Stdout.WriteString(line); err != nil {
		os.Exit(3) // the parent is gone
	}
}

// wait waits until the parent says something.
func (p *player) wait() { <-p.cues }

// listen hears the parent. If it dies, so does the child.
func (p *player) listen() {
	lines := bufio.NewScanner(os.Stdin)
	for lines.Scan() {
		p.cues <- struct{}{}
	}
	os.Exit(3)
}

// TestProofChild is no test but what a child runs.
func TestProofChild(t *testing.T) {
	role := os.Getenv(envRole)
	if role == "" {
		return
	}
	p := &player{args: strings.Split(os.Getenv(envArgs), argSep), cues: make(chan struct{}, 8)}
	go p.listen()
	roles[role](t, p)
}

// start starts a child.
func start(t testing.TB, role string, args ...string) *child {
	t.Helper()
	cmd := exec.Command(os.Args[0], "-test.run=^TestProofChild$", "-test.timeout=10m")
	cmd.Env = append(os.Environ(), envRole+"="+role, envArgs+"="+strings.Join(args, argSep))
	stdin, err := cmd.StdinPipe()
	must(t, err)
	stdout, err := cmd.StdoutPipe()
	must(t, err)
	cmd.Stderr = os.Stderr
	must(t, cmd.Start())
	lines := bufio.NewScanner(stdout)
	lines.Buffer(nil, 1<<20)
	return &child{t: t, cmd: cmd, stdin: stdin, lines: lines}
}

// hear returns the next line that the child says, in words. A last line that
// was cut off because the child was killed counts as not said.
func (c *child) hear() (words []string, ok bool) {
	for c.lines.Scan() {
		line, said := strings.CutPrefix(c.lines.Text(), say)
		if line, whole := strings.CutSuffix(line, " ."); said && whole {
			return strings.Fields(line), true
		}
		if !said && line != "PASS" && !strings.HasPrefix(line, "coverage:") {
			c.t.Errorf("a child said: %s", line)
		}
	}
	return nil, false
}

// prompt lets a child that waits go on.
func (c *child) prompt() {
	if _, err := io.WriteString(c.stdin, "go\n"); err != nil {
		c.t.Errorf("a child does not listen: %v", err)
	}
}

// kill kills the child without warning.
func (c *child) kill() {
	if err := c.cmd.Process.Kill(); err != nil {
		c.t.Errorf("kill a child: %v", err)
	}
}

// end waits for the end of a child that was killed. All it said must have been
// heard before.
func (c *child) end() {
	if c.cmd.Wait() == nil {
		c.t.Error("a child that should have been killed ended by itself")
	}
}

// done hears a child out that must end well.
func (c *child) done() {
	for _, more := c.hear(); more; _, more = c.hear() {
	}
	if err := c.cmd.Wait(); err != nil {
		c.t.Errorf("a child failed: %v", err)
	}
}

// openChild opens a store in a child.
func openChild(t *testing.T, home string, opts filestore.Options) *filestore.Store {
	st, err := filestore.Open(home, opts)
	must(t, err)
	return st
}
