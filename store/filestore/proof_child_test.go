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

// child is the test binary, started as another process. It prints messages on its output,
// one per line, with words separated by spaces.
type child struct {
	t     testing.TB
	cmd   *exec.Cmd
	stdin io.WriteCloser
	lines *bufio.Scanner
}

// Environment variables of a child: its role and arguments.
const (
	envRole = "FIRN_PROOF_ROLE"
	envArgs = "FIRN_PROOF_ARGS"
	argSep  = "\x1f"
)

// say is the prefix of messages; other output is an error.
const say = "say: "

// roles are the functions that a child can run.
var roles = map[string]func(t *testing.T, p *player){
	"writer":   writerRole,
	"appender": appenderRole,
	"follower": followerRole,
	"claimer":  claimerRole,
}

// player is the child's side of the connection.
type player struct {
	args []string
	mu   sync.Mutex
	cues chan struct{} // messages from the parent
}

// report sends a message to the parent with one system call, so that it arrives even if the
// child is killed right afterwards. The dot at the end marks a complete line.
func (p *player) report(words ...any) {
	line := say + fmt.Sprintln(append(words, ".")...)
	p.mu.Lock()
	defer p.mu.Unlock()
	if _, err := os.Stdout.WriteString(line); err != nil {
		os.Exit(3) // the parent has exited
	}
}

// wait waits for a message from the parent.
func (p *player) wait() { <-p.cues }

// listen reads messages from the parent and exits if it dies.
func (p *player) listen() {
	lines := bufio.NewScanner(os.Stdin)
	for lines.Scan() {
		p.cues <- struct{}{}
	}
	os.Exit(3)
}

// TestProofChild is not a test but the main function of a child.
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

// readWords returns the words of the child's next message. An incomplete last line of a killed
// child is ignored.
func (c *child) readWords() (words []string, ok bool) {
	for c.lines.Scan() {
		line, text := strings.CutPrefix(c.lines.Text(), say)
		if line, whole := strings.CutSuffix(line, " ."); text && whole {
			return strings.Fields(line), true
		}
		if !text && line != "PASS" && !strings.HasPrefix(line, "coverage:") {
			c.t.Errorf("a child printed: %s", line)
		}
	}
	return nil, false
}

// prompt lets a waiting child continue.
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

// end waits for a killed child to exit. All its messages must have been read.
func (c *child) end() {
	if c.cmd.Wait() == nil {
		c.t.Error("a child that should have been killed ended")
	}
}

// done reads all messages of a child, which must exit without error.
func (c *child) done() {
	for _, more := c.readWords(); more; _, more = c.readWords() {
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
