package main

import (
	"net/http"
	"net/http/httptest"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
)

// TestAddressOfAnthropic sets the URL of a provider of kind anthropic with the version, as
// documented, without it, and with a slash: all use the same path.
func TestAddressOfAnthropic(t *testing.T) {
	for _, tail := range []string{"", "/", "/v1", "/v1/", "/proxy/v1"} {
		paths := make(chan string, 8)
		server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
			paths <- r.URL.Path
			w.WriteHeader(http.StatusBadRequest)
		}))
		home := t.TempDir()
		settings := "[defaults]\nmodel = \"mine/claude\"\nretries = 0\n[memory]\nenabled = false\n[providers.mine]\nkind = \"anthropic\"\nurl = \"" + server.URL + tail + "\"\nkey_env = \"MINE\"\n"
		if err := os.WriteFile(filepath.Join(home, "firn.toml"), []byte(settings), 0o600); err != nil {
			t.Fatal(err)
		}
		cmd := exec.Command("firn", "chat", "-p", "hello")
		cmd.Env = append(os.Environ(), "FIRN_HOME="+home, "FIRN_MODEL=", "MINE=x")
		out, _ := cmd.CombinedOutput()
		server.Close()
		close(paths)
		path, ok := <-paths
		if want := strings.TrimSuffix(strings.TrimRight(tail, "/"), "/v1") + "/v1/messages"; !ok || path != want {
			t.Errorf("with %q it asked %s, want %s: %s", tail, path, want, out)
		}
	}
}

// TestFullSession fills a session up to its size limit: the hint names remedies, and neither
// /compact nor /rewind, which add bytes.
func TestFullSession(t *testing.T) {
	home := t.TempDir()
	server := newFakeProvider(t, func(fakeRequest) (int, string) { return http.StatusOK, "Fine." })
	server.smallWindow(t, home, 100_000, "")
	file := filepath.Join(home, "firn.toml")
	settings, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(file, append(settings, "\n[store]\nmax_bytes = \"8kb\"\n"...), 0o600); err != nil {
		t.Fatal(err)
	}
	_, notes, code := server.firn(t, home, home, "chat", "-p", "--no-tools", filler(9000))
	if code == 0 || !strings.Contains(notes, "store.max_bytes") || strings.Contains(notes, "/compact") || strings.Contains(notes, "/rewind") {
		t.Errorf("it ended with %d: %s", code, notes)
	}
}
