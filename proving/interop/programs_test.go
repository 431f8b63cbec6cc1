package interop

import (
	"bufio"
	"context"
	"encoding/json"
	"errors"
	"io"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"strings"
	"testing"

	"firn.dev/internal/base/basetest"
)

// patience is the time limit of a program that normally takes seconds.
const patience = 2 * basetest.Limit

// architecture returns npm's name for this machine's architecture.
func architecture() string {
	if runtime.GOARCH == "amd64" {
		return "x64"
	}
	return runtime.GOARCH
}

// installed returns the path of an npm-installed file.
func installed(t *testing.T, path ...string) string {
	t.Helper()
	abs, err := filepath.Abs(filepath.Join(append([]string{"node_modules"}, path...)...))
	if err != nil {
		t.Fatal(err)
	}
	return abs
}

// requireVersion fails the test if a package is not installed in this version.
func requireVersion(t *testing.T, name, version string) {
	t.Helper()
	b, err := os.ReadFile(installed(t, filepath.FromSlash(name), "package.json"))
	if errors.Is(err, fs.ErrNotExist) {
		t.Fatalf("%s %s is not installed: run `make test`, or for OpenClaw `make interop-all`, which install it", name, version)
	}
	var manifest struct{ Version string }
	if err == nil {
		err = json.Unmarshal(b, &manifest)
	}
	if err != nil {
		t.Fatalf("find the installed %s: %v", name, err)
	}
	if manifest.Version != version {
		t.Fatalf("%s %s is installed, want %s: run `make test`, which installs it", name, manifest.Version, version)
	}
}

// node returns the Node.js that npm installed, or else the system's.
func node(t *testing.T) string {
	t.Helper()
	pinned := installed(t, "node-"+runtime.GOOS+"-"+architecture(), "bin", "node")
	if _, err := os.Stat(pinned); err == nil {
		return pinned
	}
	found, err := exec.LookPath("node")
	if err != nil {
		t.Fatalf("node is not installed: run `make test`, which installs it (%v)", err)
	}
	return found
}

// plainEnv returns an environment without the settings, keys and proxy of the user who runs
// the tests.
func plainEnv(home string) []string {
	env := []string{"HOME=" + home, "USERPROFILE=" + home, "NO_COLOR=1", "TERM=dumb"}
	for _, name := range []string{"PATH", "SystemRoot", "TMPDIR", "TEMP"} {
		if value, ok := os.LookupEnv(name); ok {
			env = append(env, name+"="+value)
		}
	}
	return env
}

// run runs a program and returns its stdout.
func run(t *testing.T, dir string, env []string, program string, args ...string) string {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), patience)
	defer cancel()
	cmd := exec.CommandContext(ctx, program, args...)
	var errs strings.Builder
	cmd.Dir, cmd.Env, cmd.Stderr = dir, env, &errs
	out, err := cmd.Output()
	if err != nil {
		t.Fatalf("%s %.300q: %v\n%s%s", filepath.Base(program), args, err, out, &errs)
	}
	return string(out)
}

// driver is a script in a Node.js process that answers requests, one line of JSON each.
type driver struct {
	name    string
	cmd     *exec.Cmd
	in      io.WriteCloser
	out     *bufio.Reader
	saidErr *strings.Builder
}

// startDriver starts a script. It ends with the test.
func startDriver(t *testing.T, name string, env []string, args ...string) *driver {
	t.Helper()
	d := &driver{name: name, saidErr: new(strings.Builder)}
	cmd := exec.CommandContext(t.Context(), node(t), args...)
	cmd.Env, cmd.Stderr = env, d.saidErr
	d.cmd = cmd
	var err error
	if d.in, err = cmd.StdinPipe(); err != nil {
		t.Fatal(err)
	}
	out, err := cmd.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	d.out = bufio.NewReader(out)
	if err := cmd.Start(); err != nil {
		t.Fatalf("start %s: %v", name, err)
	}
	t.Cleanup(func() {
		d.in.Close()
		cmd.Wait() // the context may have ended it first
	})
	return d
}

// kill kills the process with SIGKILL and waits for its end.
func (d *driver) kill() {
	_ = d.cmd.Process.Kill()
	_ = d.cmd.Wait()
}

// exchange sends a request and reads the reply.
func (d *driver) exchange(t *testing.T, request, reply any) {
	t.Helper()
	line, err := json.Marshal(request)
	if err != nil {
		t.Fatal(err)
	}
	if _, err := d.in.Write(append(line, '\n')); err != nil {
		t.Fatalf("send to %s: %v; it printed %q", d.name, err, d.saidErr)
	}
	answer, err := d.out.ReadBytes('\n')
	if err != nil {
		t.Fatalf("read from %s: %v; it printed %q", d.name, err, d.saidErr)
	}
	if err := json.Unmarshal(answer, reply); err != nil {
		t.Fatalf("read the answer of %s: %v\n%.2000s", d.name, err, answer)
	}
}
