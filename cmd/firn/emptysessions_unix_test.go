//go:build unix

package main

import (
	"encoding/json"
	"io/fs"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"firn.dev"
	"firn.dev/client"
	"firn.dev/internal/term/line/linetest"
	"firn.dev/store"
	"firn.dev/store/filestore"
	"firn.dev/wire"
)

// sessionFiles returns the transcripts and key tables of a home.
func sessionFiles(t *testing.T, home string) []string {
	t.Helper()
	var found []string
	err := filepath.WalkDir(home, func(path string, e fs.DirEntry, err error) error {
		if err == nil && !e.IsDir() && strings.Contains(path, "sessions") {
			found = append(found, path)
		}
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	return found
}

// listedIDs returns the sessions of firn ls with the given flags.
func listedIDs(t *testing.T, home string, flags ...string) []firn.ID {
	t.Helper()
	var page wire.Page[wire.Session]
	if err := json.Unmarshal([]byte(firnIn(t, home, append([]string{"ls", "--json"}, flags...)...)), &page); err != nil {
		t.Fatal(err)
	}
	ids := []firn.ID{}
	for _, s := range page.Items {
		ids = append(ids, s.ID)
	}
	return ids
}

// TestEmptyChatLeavesNothing ends and kills chats before their first message, with and
// without a gateway: there is no file, no key and no row afterwards.
func TestEmptyChatLeavesNothing(t *testing.T) {
	for _, served := range []bool{false, true} {
		home, server := t.TempDir(), newSlowServer(t)
		if served {
			serveHome(t, home)
		}
		c := startChat(t, home, server)
		c.err.Await("new session")
		c.kill()
		for _, input := range []string{"", "/status\n/new\n/window\n/model\n/quit\n", "/new\n/new\n/new\n"} {
			c.next(input, 0)
		}
		c.next("", 0, "--key", "agent:main:reviews", "--thinking", "low")
		if found := sessionFiles(t, home); len(found) > 0 {
			t.Errorf("served %t: %v are left", served, found)
		}
		if ids := listedIDs(t, home, "--empty"); len(ids) > 0 {
			t.Errorf("served %t: %v are listed", served, ids)
		}
		if out := firnIn(t, home, "keys", "ls", "--json"); strings.Contains(out, "agent:") {
			t.Errorf("served %t: keys %s", served, out)
		}
		c.next("hello\n/new\n/new\n", 0)
		if ids := listedIDs(t, home, "--empty"); len(ids) != 1 {
			t.Errorf("served %t: %v are listed after one message", served, ids)
		}
	}
}

// TestSessionWithoutEntries creates sessions without entries, over HTTP and by firn new. They
// are not listed, but can be used by ID after the gateway was killed, and are listed then.
func TestSessionWithoutEntries(t *testing.T) {
	home := t.TempDir()
	gateway, out := firnCommand(home, "serve", "--json"), linetest.NewRecorder(t)
	gateway.Stdout = out
	if err := gateway.Start(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { gateway.Process.Kill() })
	out.Await(`"address"`)
	c, err := client.New(client.Options{Address: "unix:" + filepath.Join(home, "gateway.sock")})
	if err != nil {
		t.Fatal(err)
	}
	defer c.Close()
	asked, err := c.NewSession(t.Context(), wire.NewSession{Key: "agent:main:reviews"})
	if err != nil {
		t.Fatal(err)
	}
	ids := []firn.ID{asked.ID, firn.ID(firnIn(t, home, "new"))}
	for page, err := range c.Sessions(t.Context(), client.Query{}) {
		t.Errorf("GET /v1/sessions lists %s, %v", page.ID, err)
	}
	gateway.Process.Kill()
	gateway.Wait()

	if listed := listedIDs(t, home); len(listed) > 0 {
		t.Errorf("listed: %v", listed)
	}
	if listed := listedIDs(t, home, "--empty"); len(listed) != 2 {
		t.Errorf("with --empty are listed %v, want %v", listed, ids)
	}
	for _, id := range ids {
		if out := firnIn(t, home, "show", string(id)); !strings.Contains(out, string(id)) {
			t.Errorf("firn show %s: %s", id, out)
		}
		firnIn(t, home, "append", string(id), "--user", "hello")
	}
	listed := listedIDs(t, home)
	slices.Sort(listed)
	slices.Sort(ids)
	if !slices.Equal(listed, ids) {
		t.Errorf("with a message are listed %v, want %v", listed, ids)
	}
}

// TestListHasSessionsOfTheLibrary creates a session with the library alone in a home that has
// a catalog.
func TestListHasSessionsOfTheLibrary(t *testing.T) {
	home := t.TempDir()
	firnIn(t, home, "new", "--title", "first")
	if ids := listedIDs(t, home); len(ids) != 1 {
		t.Fatalf("listed: %v", ids)
	}
	st, err := filestore.Open(home, filestore.Options{})
	if err != nil {
		t.Fatal(err)
	}
	defer st.Close()
	for n := range 3 {
		if _, err := st.Append(t.Context(), firn.NewID(), store.Start, firn.UserText("hello")); err != nil {
			t.Fatal(err)
		}
		if ids := listedIDs(t, home, "-n", "9"); len(ids) != n+2 {
			t.Errorf("listed: %v, want %d sessions", ids, n+2)
		}
	}
}
