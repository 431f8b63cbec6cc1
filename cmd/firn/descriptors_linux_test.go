package main

import (
	"bytes"
	"context"
	"fmt"
	"io"
	"net"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"
	"unsafe"

	"firn.dev"
	"firn.dev/client"
	"firn.dev/internal/disk/limits"
	"firn.dev/internal/term/line/linetest"
	"firn.dev/wire"
)

// limited is a gateway whose process has few file descriptors.
type limited struct {
	t      *testing.T
	home   string
	socket string
	cmd    *exec.Cmd
}

// startLimited starts firn serve with both the soft and the hard limit set.
func startLimited(t *testing.T, limit int) *limited {
	t.Helper()
	dir, err := os.MkdirTemp("", "fd") // the paths of sockets must be short
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { os.RemoveAll(dir) })
	l := &limited{t: t, home: dir, socket: filepath.Join(dir, "gateway.sock")}
	l.cmd = exec.Command("sh", "-c", fmt.Sprintf(`ulimit -n %d; exec firn serve --json`, limit))
	l.cmd.Env = append(os.Environ(), "FIRN_HOME="+l.home, "FIRN_MODEL=")
	out := linetest.NewRecorder(t)
	l.cmd.Stdout, l.cmd.Stderr = out, linetest.NewRecorder(t)
	if err := l.cmd.Start(); err != nil {
		t.Fatal(err)
	}
	out.Await(`"address"`)
	return l
}

func (l *limited) stop() {
	l.t.Helper()
	l.cmd.Process.Signal(syscall.SIGTERM)
	if err := l.cmd.Wait(); err != nil {
		l.t.Errorf("the gateway ended with %v", err)
	}
}

func (l *limited) client() *client.Client {
	l.t.Helper()
	c, err := client.New(client.Options{Address: "unix:" + l.socket})
	if err != nil {
		l.t.Fatal(err)
	}
	l.t.Cleanup(func() { c.Close() })
	return c
}

// until repeats an operation until it succeeds: a request may be rejected temporarily, but not
// permanently.
func until(ctx context.Context, t *testing.T, what string, do func() error) (done bool) {
	t.Helper()
	for {
		err := do()
		if err == nil {
			return true
		}
		select {
		case <-ctx.Done():
			t.Errorf("%s failed permanently: %v", what, err)
			return false
		case <-time.After(20 * time.Millisecond):
		}
	}
}

// TestFewDescriptors runs a gateway with low limits of file descriptors and more sessions,
// followers and requests than fit: every request is answered eventually, and acknowledged
// entries are in the files.
func TestFewDescriptors(t *testing.T) {
	for limit, sessions := range map[int]int{64: 250, 100: 250, 256: 400, 1024: 1300} {
		t.Run(fmt.Sprint(limit), func(t *testing.T) {
			t.Parallel()
			if testing.Short() {
				sessions /= 5
			}
			ctx, cancel := context.WithTimeout(t.Context(), 2*time.Minute)
			defer cancel()
			l := startLimited(t, limit)
			first := l.client()
			followed := make([]firn.ID, limits.Divide(limit).Connections/8) // which leaves room for the others on the socket
			for i := range followed {
				until(ctx, t, "a new session", func() (err error) {
					s, err := first.NewSession(ctx, wire.NewSession{Title: fmt.Sprintf("followed %d", i)})
					followed[i] = s.ID
					return err
				})
			}
			following, unfollow := context.WithCancel(ctx)
			var watching sync.WaitGroup
			for _, id := range followed {
				c := l.client()
				watching.Go(func() {
					until(following, t, "following", func() error {
						for _, err := range c.Events(following, id, 0) {
							if err != nil {
								return err
							}
						}
						return nil
					})
				})
			}
			acknowledged := appendMany(ctx, t, l, sessions)
			unfollow()
			watching.Wait()
			until(ctx, t, "firn ls", func() error {
				out, err := exec.CommandContext(ctx, "firn", "--home", l.home, "ls", "-n", "all", "--json").Output()
				if n := bytes.Count(out, []byte(`"id"`)); err == nil && n < sessions {
					t.Errorf("firn ls lists %d of %d sessions", n, sessions)
				}
				return err
			})
			until(ctx, t, "a search", func() error {
				_, err := first.Search(ctx, wire.SearchQuery{Query: "acknowledged"})
				return err
			})
			until(ctx, t, "/readyz", func() error { return readyz(ctx, l.http()) })
			l.stop()
			checkFiles(t, l.home, acknowledged)
		})
	}
}

// appendMany begins sessions and appends to each twice, from several clients,
// and returns the texts that were acknowledged.
func appendMany(ctx context.Context, t *testing.T, l *limited, sessions int) []string {
	const writers, rounds = 2, 2
	texts := make([][]string, writers)
	var writing sync.WaitGroup
	for w := range writers {
		c := l.client()
		writing.Go(func() {
			defer c.Close()
			ids := make([]firn.ID, sessions/writers+1)
			for i := range ids {
				if !until(ctx, t, "a new session", func() (err error) {
					s, err := c.NewSession(ctx, wire.NewSession{Title: fmt.Sprintf("session %d of %d", i, w)})
					ids[i] = s.ID
					return err
				}) {
					return
				}
			}
			for round := range rounds {
				for i, id := range ids {
					text := fmt.Sprintf("acknowledged %d-%d-%d;", w, round, i)
					if !until(ctx, t, "an append", func() error {
						_, err := c.Append(ctx, id, client.Any, wire.NewEntries{User: text})
						return err
					}) {
						return
					}
					texts[w] = append(texts[w], text)
				}
			}
		})
	}
	writing.Wait()
	var all []string
	for _, some := range texts {
		all = append(all, some...)
	}
	return all
}

// checkFiles checks that every text is in the transcripts.
func checkFiles(t *testing.T, home string, texts []string) {
	t.Helper()
	paths, err := filepath.Glob(filepath.Join(home, "agents", "main", "sessions", "*.jsonl"))
	if err != nil {
		t.Fatal(err)
	}
	var all strings.Builder
	for _, path := range paths {
		data, err := os.ReadFile(path)
		if err != nil {
			t.Fatal(err)
		}
		all.Write(data)
	}
	lost := 0
	for _, text := range texts {
		if !strings.Contains(all.String(), text) {
			lost++
		}
	}
	if lost > 0 || len(texts) == 0 {
		t.Errorf("%d of %d acknowledged texts are lost", lost, len(texts))
	}
}

// http is a client that keeps its one connection.
func (l *limited) http() *http.Client {
	transport := &http.Transport{MaxConnsPerHost: 1, DialContext: func(ctx context.Context, _, _ string) (net.Conn, error) {
		var d net.Dialer
		return d.DialContext(ctx, "unix", l.socket)
	}}
	l.t.Cleanup(transport.CloseIdleConnections)
	return &http.Client{Transport: transport}
}

func readyz(ctx context.Context, c *http.Client) error {
	request, err := http.NewRequestWithContext(ctx, http.MethodGet, "http://firn/readyz", nil)
	if err != nil {
		return err
	}
	response, err := c.Do(request)
	if err != nil {
		return err
	}
	defer response.Body.Close()
	body, err := io.ReadAll(response.Body)
	if err == nil && response.StatusCode != http.StatusOK {
		err = fmt.Errorf("status %d: %s", response.StatusCode, body)
	}
	return err
}

// TestReadyWithoutDescriptors exhausts the descriptors of a running gateway: it reports
// that it is not ready and why, stays intact, and is ready again when some are free.
func TestReadyWithoutDescriptors(t *testing.T) {
	ctx, cancel := context.WithTimeout(t.Context(), 2*time.Minute)
	defer cancel()
	l := startLimited(t, 256)
	asking, c := l.http(), l.client()
	s, err := c.NewSession(ctx, wire.NewSession{Title: "before"})
	if err != nil {
		t.Fatal(err)
	}
	if err := readyz(ctx, asking); err != nil {
		t.Fatalf("before: %v", err)
	}
	setLimit(t, l.cmd.Process.Pid, 8) // fewer than are open: no number below is free
	until(ctx, t, "to be not ready", func() error {
		err := readyz(ctx, asking)
		if err == nil {
			return fmt.Errorf("/readyz reports ready")
		}
		if !strings.Contains(err.Error(), "503") || !strings.Contains(err.Error(), "descriptors") {
			t.Fatalf("not ready for another reason: %v", err)
		}
		return nil
	})
	setLimit(t, l.cmd.Process.Pid, 256)
	until(ctx, t, "to be ready again", func() error { return readyz(ctx, asking) })
	until(ctx, t, "an append", func() error {
		_, err := c.Append(ctx, s.ID, client.Any, wire.NewEntries{User: "after;"})
		return err
	})
	until(ctx, t, "a new connection", func() error { return readyz(ctx, l.http()) })
	l.stop()
	checkFiles(t, l.home, []string{"after;"})
}

// setLimit sets the soft limit of descriptors of a process.
func setLimit(t *testing.T, pid int, limit uint64) {
	t.Helper()
	set := syscall.Rlimit{Cur: limit, Max: 256}
	_, _, errno := syscall.RawSyscall6(syscall.SYS_PRLIMIT64, uintptr(pid), syscall.RLIMIT_NOFILE, uintptr(unsafe.Pointer(&set)), 0, 0, 0)
	if errno != 0 {
		t.Fatalf("set the limit of process %d: %v", pid, errno)
	}
}
