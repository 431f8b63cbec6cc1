package client_test

import (
	"context"
	"errors"
	"io/fs"
	"net"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"firn.dev"
	"firn.dev/client"
	"firn.dev/internal/base/basetest"
	"firn.dev/wire"
)

func TestAddresses(t *testing.T) {
	for _, good := range []string{"unix:/run/firn.sock", "unix:///run/firn.sock", "unix:relative.sock", "http://127.0.0.1:4114", "http://127.0.0.1:4114/", "http://[::1]:80", "https://firn.test/gateway"} {
		if _, err := client.New(client.Options{Address: good}); err != nil {
			t.Error(err)
		}
	}
	for _, bad := range []string{"", "unix:", "unix://", "127.0.0.1:4114", "ftp://x", "http://", "http://x?a=b", "http://user:word@x", "http://x#y", "://", "http://[::1"} {
		if _, err := client.New(client.Options{Address: bad}); !errors.Is(err, firn.ErrInvalid) {
			t.Errorf("%q: %v", bad, err)
		}
	}
}

func TestAddressWithPath(t *testing.T) {
	l := local(t, func(w http.ResponseWriter, r *http.Request) { responseWriter(w, wire.Status{Home: r.URL.Path}) })
	c := newClient(t, client.Options{Address: "http://firn.test/gateway/", Transport: l})
	if status, err := c.Status(t.Context()); err != nil || status.Home != "/gateway/v1/status" {
		t.Errorf("requested %q, %v", status.Home, err)
	}
}

// listeners returns gateways on real sockets.
func listeners(t *testing.T, h http.Handler) map[string]string {
	t.Helper()
	tcp := httptest.NewServer(h)
	t.Cleanup(tcp.Close)
	unix := httptest.NewUnstartedServer(h)
	path := socket(t)
	l, err := net.Listen("unix", path)
	if err != nil {
		t.Fatal(err)
	}
	unix.Listener.Close()
	unix.Listener = l
	unix.Start()
	t.Cleanup(unix.Close)
	return map[string]string{"unix": "unix:" + path, "tcp": tcp.URL}
}

// socket returns a path for a socket that is short enough for every system.
func socket(t *testing.T) string {
	t.Helper()
	dir, err := os.MkdirTemp("", "firn")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { os.RemoveAll(dir) })
	return filepath.Join(dir, "s")
}

func TestOverSockets(t *testing.T) {
	f := newFake(4, interruption{abort, 3, 0}, interruption{tear, 2, 1}, interruption{end, 1, 0})
	f.script = script()
	status := http.NewServeMux()
	status.Handle("/", f)
	status.HandleFunc("GET /v1/status", func(w http.ResponseWriter, r *http.Request) { responseWriter(w, wire.Status{Version: "1"}) })
	for name, address := range listeners(t, status) {
		c := newClient(t, client.Options{Address: address})
		if s, err := c.Status(t.Context()); err != nil || s.Version != "1" || c.Address() != address {
			t.Errorf("%s: got %+v, %v", name, s, err)
		}
		if log, _ := follow(t, c, 0, 4); !slices.Equal(log, positions(1, 4)) {
			t.Errorf("%s: the log arrived as %v", name, log)
		}
		if names, err := listen(t.Context(), c, wire.Turn{Text: "hi"}); err != nil || len(names) != 4 {
			t.Errorf("%s: got %q, %v", name, names, err)
		}
		if err := c.Close(); err != nil {
			t.Error(err)
		}
	}
}

func TestUnreachable(t *testing.T) {
	for _, address := range []string{"unix:" + socket(t), "http://" + basetest.DeadAddress(t)} {
		c := newClient(t, client.Options{Address: address})
		_, err := c.NewSession(t.Context(), wire.NewSession{})
		var u *client.Unreachable
		if !errors.As(err, &u) || u.Address != address || !strings.Contains(u.Hint, "firn serve") || !strings.Contains(err.Error(), address) {
			t.Errorf("the error is %v", err)
		}
		if strings.Count(err.Error(), "POST") != 1 || strings.Count(err.Error(), "dial") != 0 {
			t.Errorf("the error repeats itself: %v", err)
		}
	}
}

func TestFind(t *testing.T) {
	health := http.NewServeMux()
	health.HandleFunc("GET /healthz", func(w http.ResponseWriter, r *http.Request) { responseWriter(w, map[string]string{"status": "ok"}) })
	real := listeners(t, health)
	other := httptest.NewServer(http.NotFoundHandler())
	defer other.Close()
	home := t.TempDir()
	found := func(content string) (string, bool) {
		t.Helper()
		return client.Find(t.Context(), home, func(path string) ([]byte, error) {
			if path != filepath.Join(home, "gateway", "address.json") {
				t.Errorf("read %s", path)
			}
			if content == "" {
				return nil, fs.ErrNotExist
			}
			return []byte(content), nil
		})
	}
	for _, address := range real {
		if got, ok := found(`{"address":"` + address + `","pid":1}`); !ok || got != address {
			t.Errorf("found %q, %v", got, ok)
		}
	}
	for name, content := range map[string]string{
		"no file": "", "no JSON": "{", "no address": "{}", "a bad address": `{"address":"nowhere"}`,
		"no listener": `{"address":"unix:` + socket(t) + `"}`, "another program": `{"address":"` + other.URL + `"}`,
	} {
		if got, ok := found(content); ok {
			t.Errorf("%s: found %q", name, got)
		}
	}
	// A gateway that could not write its address is found by its socket.
	if err := os.Symlink(strings.TrimPrefix(real["unix"], "unix:"), filepath.Join(home, "gateway.sock")); err != nil {
		t.Fatal(err)
	}
	for _, content := range []string{"", "{", `{"address":"unix:` + socket(t) + `"}`} {
		if got, ok := found(content); !ok || got != "unix:"+filepath.Join(home, "gateway.sock") {
			t.Errorf("%s: found %q, %v by its socket", content, got, ok)
		}
	}
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	if err := os.MkdirAll(filepath.Join(home, "gateway"), 0o700); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(filepath.Join(home, "gateway", "address.json"), []byte(`{"address":"`+real["tcp"]+`"}`), 0o600); err != nil {
		t.Fatal(err)
	}
	if got, ok := client.Find(t.Context(), home, nil); !ok || got != real["tcp"] {
		t.Errorf("found %q, %v in a file", got, ok)
	}
	if _, ok := client.Find(ctx, home, nil); ok {
		t.Error("found a gateway although none is expected")
	}
}
