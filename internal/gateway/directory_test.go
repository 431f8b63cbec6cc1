package gateway

import (
	"testing"
	"testing/synctest"

	"firn.dev"
	"firn.dev/store"
	"firn.dev/wire"
)

// TestDirectories creates sessions in all ways and sends messages from several directories.
// The header has the requested directory or the agent's, and a message has its directory if
// it differs from the previous one.
func TestDirectories(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		d := chat(t)
		d.setup.Load().Agents["main"].Workspace = "/work"
		begun := func(what string, id firn.ID, want string) {
			t.Helper()
			if h, err := d.header(t.Context(), id); err != nil || h.CWD != want {
				t.Errorf("%s: begun in %q, want %q (%v)", what, h.CWD, want, err)
			}
		}
		first, err := d.Inbound(t.Context(), inboundFrom("ann", "hello"))
		if err != nil {
			t.Fatal(err)
		}
		begun("a message from outside", first.Session, "/work")
		reset, err := d.Inbound(t.Context(), inboundFrom("ann", "/new and hello"))
		if err != nil {
			t.Fatal(err)
		}
		begun("/new from outside", reset.Session, "/work")
		for _, n := range []struct {
			n    wire.NewSession
			want string
		}{
			{wire.NewSession{}, "/work"}, {wire.NewSession{CWD: "/here"}, "/here"}, {wire.NewSession{Key: "agent:main:x", CWD: "/here"}, "/here"},
			{wire.NewSession{Key: "agent:main:x", CWD: "/there", Fresh: true}, "/there"}, {wire.NewSession{Key: "agent:main:x", Fresh: true}, "/work"},
		} {
			s, err := d.NewSession(t.Context(), n.n)
			if err != nil {
				t.Fatal(err)
			}
			begun("a new session", s.ID, n.want)
		}
		if _, err := d.NewSession(t.Context(), wire.NewSession{CWD: "/a\nb"}); err == nil {
			t.Error("a directory of two lines is accepted")
		}
		s, err := d.NewSession(t.Context(), wire.NewSession{CWD: "/a"})
		if err != nil {
			t.Fatal(err)
		}
		want := map[string]string{"1": "", "2": "/b", "3": "", "4": "", "5": "/a", "6": ""}
		for i, dir := range []string{"/a", "/b", "/b", "", "/a", "/a"} {
			if _, err := d.Turn(t.Context(), s.ID, wire.Turn{Text: string(rune('1' + i)), CWD: dir}); err != nil {
				t.Fatal(err)
			}
		}
		for rec, err := range d.Store.Read(t.Context(), s.ID, store.Start) {
			if err != nil {
				t.Fatal(err)
			}
			e, err := rec.Entry()
			if m, ok := e.Body.(*firn.Message); err == nil && ok && m.Role == firn.RoleUser && firn.DirectoryOf(e) != want[m.Text()] {
				t.Errorf("message %s has the directory %q, want %q", m.Text(), firn.DirectoryOf(e), want[m.Text()])
			}
		}
		if s, err = d.Session(t.Context(), string(s.ID)); err != nil || s.CWD != "/a" || len(s.Directories) != 2 || s.Directories[1] != "/a" {
			t.Errorf("the session has %q and %q (%v)", s.CWD, s.Directories, err)
		}
	})
}
