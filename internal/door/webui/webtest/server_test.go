package webtest

import (
	"bufio"
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"
	"testing"

	"firn.dev"
	"firn.dev/client"
	"firn.dev/wire"
)

// server is a gateway in a separate process.
type server struct {
	home string
	// url is its address for browsers.
	url    string
	client *client.Client

	cmd  *exec.Cmd
	done chan struct{}
	log  *journal
}

// journal collects the stderr of a process.
type journal struct {
	mu  sync.Mutex
	all bytes.Buffer
}

func (j *journal) Write(p []byte) (int, error) {
	j.mu.Lock()
	defer j.mu.Unlock()
	return j.all.Write(p)
}

func (j *journal) String() string {
	j.mu.Lock()
	defer j.mu.Unlock()
	return j.all.String()
}

// settings are the settings of all test gateways: besides the default agent there is the
// agent player, whose model is controlled by the test and who has no memory.
const settings = `
[agents.main]
model = "firn/offline"

[agents.player]
model = "play/slow"
memory = { enabled = false }

[providers.play]
kind = "openai-chat"
url = "%s/v1"

[models."play/slow"]
window = 64000
sees = true
`

// newHome creates a home without sessions.
func newHome() (string, error) {
	home, err := os.MkdirTemp(world.dir, "home-")
	if err != nil {
		return "", err
	}
	return home, os.WriteFile(filepath.Join(home, "firn.toml"), fmt.Appendf(nil, settings, world.model.url()), 0o600)
}

// environment returns an environment without variables of the user who runs the tests.
func environment(home string) []string {
	env := []string{"FIRN_HOME=" + home, "HOME=" + home, "PATH=" + os.Getenv("PATH"), "TMPDIR=" + os.TempDir(), "TZ=UTC"}
	if inNATS() {
		env = append(env, "FIRN_STORE=nats-embedded:"+filepath.Join(home, "nats"))
	}
	if root := os.Getenv("SYSTEMROOT"); root != "" {
		env = append(env, "SYSTEMROOT="+root)
	}
	return env
}

// inNATS reports whether gateways store their sessions in an embedded NATS server instead
// of files: FIRN_TEST_STORE=nats.
func inNATS() bool { return os.Getenv("FIRN_TEST_STORE") == "nats" }

// carry migrates sessions written as files to the store of the gateway.
func carry(program, home string) error {
	cmd := exec.Command(program, "migrate", "--from", "files", "--to", "nats-embedded:"+filepath.Join(home, "nats"))
	cmd.Env = environment(home)
	if out, err := cmd.CombinedOutput(); err != nil {
		return fmt.Errorf("carry sessions: %w\n%s", err, out)
	}
	return nil
}

// serve runs a gateway on a home and returns when it listens.
func serve(home string) (*server, error) { return serveAt(home, "127.0.0.1:0") }

// serveAt is serve at an address.
func serveAt(home, address string) (*server, error) {
	program, err := world.firn()
	if err != nil {
		return nil, err
	}
	if inNATS() {
		if err := carry(program, home); err != nil {
			return nil, err
		}
	}
	s := &server{home: home, done: make(chan struct{}), log: &journal{}}
	s.cmd = exec.Command(program, "serve", "--json", "--listen", address)
	s.cmd.Dir, s.cmd.Env, s.cmd.Stderr = home, environment(home), s.log
	out, err := s.cmd.StdoutPipe()
	if err != nil {
		return nil, err
	}
	if err := s.cmd.Start(); err != nil {
		return nil, err
	}
	line, _ := bufio.NewReader(out).ReadBytes('\n')
	go func() {
		io.Copy(io.Discard, out)
		s.cmd.Wait() // the result does not matter: it is killed
		close(s.done)
	}()
	var at struct{ Address, TCP string }
	if err := json.Unmarshal(line, &at); err != nil || at.TCP == "" {
		s.stop()
		return nil, fmt.Errorf("the gateway does not listen: %q\n%s", line, s.log)
	}
	s.url = "http://" + at.TCP
	if s.client, err = client.New(client.Options{Address: at.Address}); err != nil {
		s.stop()
		return nil, err
	}
	return s, nil
}

// stop ends the gateway and waits for it.
func (s *server) stop() {
	if s.client != nil {
		s.client.Close()
	}
	s.cmd.Process.Kill()
	<-s.done
}

// plainServer returns the gateway that most tests share. Each test creates its own
// sessions.
func plainServer(t *testing.T) *server {
	t.Helper()
	return world.plain.get(t, func() (*server, error) {
		return serveWith(writeBranchy, writeHostile, writeReused)
	})
}

// crowdServer returns the gateway with many sessions and a very long one.
func crowdServer(t testing.TB) *server {
	t.Helper()
	return world.crowd.get(t, func() (*server, error) {
		return serveWith(writeCrowd, writeLong)
	})
}

// goldenServer returns the gateway of the pictures, which no test changes.
func goldenServer(t *testing.T) *server {
	t.Helper()
	return world.golden.get(t, func() (*server, error) { return serveWith(writeGolden) })
}

// serveWith runs a gateway on a prepared home.
func serveWith(write ...func(home string) error) (*server, error) {
	home, err := newHome()
	if err != nil {
		return nil, err
	}
	for _, w := range write {
		if err := w(home); err != nil {
			return nil, err
		}
	}
	return serve(home)
}

// run runs a firn command on the home of the gateway.
func (s *server) run(t *testing.T, args ...string) string {
	t.Helper()
	out, err := runIn(s.home, args...)
	if err != nil {
		t.Fatal(err)
	}
	return out
}

// runIn runs a firn command on a home.
func runIn(home string, args ...string) (string, error) {
	program, err := world.firn()
	if err != nil {
		return "", err
	}
	cmd := exec.Command(program, args...)
	cmd.Env, cmd.Dir = environment(home), home
	var out, output bytes.Buffer
	cmd.Stdout, cmd.Stderr = &out, &output
	if err := cmd.Run(); err != nil {
		return "", fmt.Errorf("firn %s: %w\n%s%s", strings.Join(args, " "), err, out.String(), output.String())
	}
	return out.String(), nil
}

// loginURL requests a single-use login URL.
func (s *server) loginURL(t *testing.T, args ...string) string {
	t.Helper()
	url := strings.TrimSpace(s.run(t, append([]string{"open", "--print"}, args...)...))
	if !strings.HasPrefix(url, s.url+"/login#") {
		t.Fatalf("firn open prints %q, want an address of %s", url, s.url)
	}
	return url
}

// keep adds a transcript to a running gateway: as a file, or through the API if the store
// is not in files.
func (s *server) keep(t *testing.T, w *transcriptWriter) {
	t.Helper()
	if !inNATS() {
		if err := w.keep(s.home); err != nil {
			t.Fatal(err)
		}
		return
	}
	if w.err != nil {
		t.Fatal(w.err)
	}
	if _, err := s.client.Transfer.Import(t.Context(), wire.Import{From: "native"}, bytes.NewReader(w.lines)); err != nil {
		t.Fatal(err)
	}
}

// newSession creates a session with one message per text.
func (s *server) newSession(t *testing.T, title string, texts ...string) firn.ID {
	t.Helper()
	return s.newSessionFor(t, "", title, texts...)
}

// newSessionFor is newSession for an agent.
func (s *server) newSessionFor(t *testing.T, agent, title string, texts ...string) firn.ID {
	t.Helper()
	ctx := context.Background()
	session, err := s.client.NewSession(ctx, wire.NewSession{Agent: agent, Title: title})
	if err != nil {
		t.Fatal(err)
	}
	for _, text := range texts {
		if _, err := s.client.Turn(ctx, session.ID, wire.Turn{Text: text}); err != nil {
			t.Fatal(err)
		}
	}
	return session.ID
}

// unlike returns a title that no other session has, even if a test is repeated.
func unlike(title string) string {
	id := string(firn.NewEntryID())
	return title + " " + id[len(id)-6:]
}
