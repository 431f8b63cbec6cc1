package migrate_test

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"iter"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"firn.dev"
	"firn.dev/internal/ops/migrate"
	"firn.dev/store"
	"firn.dev/store/filestore"
	"firn.dev/store/jetstream"
)

// files opens a home with small parts.
func files(t testing.TB, home string) *filestore.Store {
	t.Helper()
	st, err := filestore.Open(home, filestore.Options{Sync: filestore.SyncNever, PartSize: 100 << 10})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { st.Close() })
	return st
}

// nats opens a store in a separate server.
func nats(t testing.TB) *jetstream.Store {
	t.Helper()
	server, err := jetstream.NewServer(t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { server.Close() })
	st, err := jetstream.Open(t.Context(), jetstream.Options{Server: server, Shards: 2})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { st.Close() })
	return st
}

func must(t testing.TB, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}

func appendEntries(t testing.TB, st store.Store, id firn.ID, entries ...firn.Entry) {
	t.Helper()
	_, err := st.Append(t.Context(), id, store.Any, entries...)
	must(t, err)
}

func path(home string, agent string, id firn.ID) string {
	return filepath.Join(home, "agents", agent, "sessions", string(id)+".jsonl")
}

// sampleHome fills a home with all kinds of sessions and returns the readable ones.
func sampleHome(t testing.TB, home string, st *filestore.Store) []firn.ID {
	t.Helper()
	ctx := t.Context()
	appendEntries(t, st, "plain", firn.UserText("one"), firn.AssistantText("two  three"))
	appendEntries(t, st, "keyed", firn.Entry{Body: &firn.Header{Agent: "ops", Key: "agent:ops:main"}}, firn.UserText("who has the key?"))
	must(t, st.Bind(ctx, "agent:ops:main", "keyed"))
	must(t, st.Bind(ctx, "telegram:direct:7", "plain"))
	for i := range 40 { // several parts, larger than a segment
		appendEntries(t, st, "long", firn.UserText(fmt.Sprint(i, " ", strings.Repeat("long ", 20_000))))
	}
	appendEntries(t, st, "archived", firn.UserText("away"))
	must(t, st.Archive(ctx, "archived"))
	appendEntries(t, st, "binned", firn.UserText("in the trash bin"))
	must(t, st.Remove(ctx, "binned", "no destination"))
	appendEntries(t, st, "purged", firn.UserText("a secret"))
	_, err := st.Purge(ctx, "purged", "it was secret")
	must(t, err)
	appendEntries(t, st, "holed", firn.Entry{ID: "aaaa0001", Body: firn.UserText("secret").Body}, firn.UserText("rest"))
	_, err = st.Purge(ctx, "holed", "", "aaaa0001")
	must(t, err)
	appendEntries(t, st, "damaged", firn.UserText("before"))
	spoil(t, path(home, "main", "damaged"), "not JSON at all\n\n{\"type\":\"message\"\x00\n")
	appendEntries(t, st, "torn", firn.UserText("whole"))
	spoil(t, path(home, "main", "torn"), `{"type":"mess`)
	return []firn.ID{"plain", "keyed", "long", "archived", "holed", "damaged", "torn"}
}

// spoil appends bytes to a file.
func spoil(t testing.TB, path, text string) {
	t.Helper()
	f, err := os.OpenFile(path, os.O_APPEND|os.O_WRONLY, 0)
	must(t, err)
	_, err = f.WriteString(text)
	must(t, err)
	must(t, f.Close())
}

// text returns the content of all parts of a session, without an unfinished line.
func text(t testing.TB, home, agent string, id firn.ID) string {
	t.Helper()
	all, err := filepath.Glob(strings.TrimSuffix(path(home, agent, id), ".jsonl") + "*.jsonl")
	must(t, err)
	var b bytes.Buffer
	for n := 1; n <= len(all); n++ {
		name := path(home, agent, id)
		if n > 1 {
			name = strings.TrimSuffix(name, ".jsonl") + fmt.Sprintf("_part%d.jsonl", n)
		}
		data, err := os.ReadFile(name)
		must(t, err)
		b.Write(data)
	}
	return b.String()[:strings.LastIndexByte(b.String(), '\n')+1]
}

func run(t testing.TB, from, to migrate.Side, o migrate.Options) *migrate.Report {
	t.Helper()
	r, err := migrate.Run(t.Context(), from, to, o)
	must(t, err)
	if !r.OK() {
		t.Errorf("these differ: %+v", r.Differ)
	}
	return r
}

func agentOf(id firn.ID) string {
	if id == "keyed" {
		return "ops"
	}
	return "main"
}

// TestMigrateAndBack migrates a home to a cluster and from there to another home, where all
// bytes and states must be the same.
func TestMigrateAndBack(t *testing.T) {
	ctx := t.Context()
	home, back := t.TempDir(), t.TempDir()
	from, cluster := files(t, home), nats(t)
	ids := sampleHome(t, home, from)
	there := run(t, from, cluster, migrate.Options{})
	if there.Sessions != 9 || there.New != 8 || there.Purged != 1 || there.Keys != 2 || there.Added != there.Lines {
		t.Errorf("there were carried %+v", there)
	}
	again := run(t, from, cluster, migrate.Options{})
	if again.Same != 8 || again.New != 0 || again.Added != 0 || again.Keys != 2 || again.Sum != there.Sum {
		t.Errorf("the second time were carried %+v", again)
	}
	to := files(t, back)
	if r := run(t, cluster, to, migrate.Options{}); r.New != 8 || r.Sum != there.Sum || r.Bytes != there.Bytes {
		t.Errorf("back were carried %+v", r)
	}
	for _, id := range ids {
		if a, b := text(t, home, agentOf(id), id), text(t, back, agentOf(id), id); a != b {
			t.Errorf("session %s has %d bytes here and %d there, or others", id, len(a), len(b))
		}
	}
	for _, st := range []migrate.Side{cluster, to} {
		checkStates(t, st)
		if id, err := st.Lookup(ctx, "telegram:direct:7"); err != nil || id != "plain" {
			t.Errorf("the key points at %q, %v", id, err)
		}
	}
	appendEntries(t, cluster, "long", firn.UserText("goes on"))
	appendEntries(t, cluster, "damaged", firn.UserText("after damage"))
	if r := run(t, cluster, to, migrate.Options{}); r.Longer != 2 || r.Same != 6 || r.Added != 2 {
		t.Errorf("the session that grew was migrated as %+v", r)
	}
	if !strings.HasSuffix(text(t, back, "main", "long"), "}\n") || !strings.Contains(text(t, back, "main", "damaged"), "after damage") {
		t.Error("the added entries are missing")
	}
}

func checkStates(t *testing.T, st migrate.Side) {
	t.Helper()
	all, err := st.Holdings(t.Context())
	must(t, err)
	for _, h := range all {
		binned, purged := h.ID == "binned", h.ID == "purged"
		if h.Archived != (h.ID == "archived") || h.Removed != binned || binned && h.Reason != "no destination" || (h.Receipt != nil) != purged || purged && h.Receipt.Reason != "it was secret" {
			t.Errorf("of %T: %+v", st, h)
		}
	}
	if len(all) != 9 {
		t.Errorf("%T has %d sessions", st, len(all))
	}
}

// TestInterrupted stops after every few lines and continues. A new session must be complete
// or missing.
func TestInterrupted(t *testing.T) {
	home := t.TempDir()
	from := files(t, home)
	sampleHome(t, home, from)
	whole := map[firn.ID]int{}
	all, err := from.Holdings(t.Context())
	must(t, err)
	for _, h := range all {
		for range from.Lines(t.Context(), h.ID) {
			whole[h.ID]++
		}
	}
	for name, to := range map[string]migrate.Side{"files": files(t, t.TempDir()), "nats": nats(t)} {
		t.Run(name, func(t *testing.T) {
			for after := 1; ; after += 4 {
				ctx, cancel := context.WithCancel(t.Context())
				r, err := migrate.Run(ctx, stopper{from, cancel, &after}, to, migrate.Options{})
				cancel()
				if err == nil {
					if !r.OK() || r.New+r.Same+r.Longer != 8 {
						t.Errorf("at last there were carried %+v", r)
					}
					return
				}
				if !errors.Is(err, context.Canceled) {
					t.Fatal(err)
				}
				checkWhole(t, to, whole)
			}
		})
	}
}

// checkWhole fails if a session is incomplete.
func checkWhole(t *testing.T, to migrate.Side, whole map[firn.ID]int) {
	t.Helper()
	all, err := to.Holdings(t.Context())
	must(t, err)
	for _, h := range all {
		n := 0
		for range to.Lines(t.Context(), h.ID) {
			n++
		}
		if n != whole[h.ID] && h.Receipt == nil {
			t.Fatalf("of session %s there are %d lines, not %d", h.ID, n, whole[h.ID])
		}
	}
}

// stopper fails reads after a number of lines.
type stopper struct {
	migrate.Side
	stop func()
	left *int
}

func (s stopper) Lines(ctx context.Context, id firn.ID) iter.Seq2[[]byte, error] {
	n := *s.left
	return func(yield func([]byte, error) bool) {
		for line, err := range s.Side.Lines(ctx, id) {
			if n--; n == 0 {
				s.stop()
			}
			if ctx.Err() != nil {
				yield(nil, ctx.Err())
				return
			}
			if !yield(line, err) {
				return
			}
		}
	}
}

// TestDestinationDiffers checks that a session that differs at the destination is reported and
// unchanged, and that the rest is migrated.
func TestDestinationDiffers(t *testing.T) {
	for name, open := range map[string]func(testing.TB) migrate.Side{
		"files": func(t testing.TB) migrate.Side { return files(t, t.TempDir()) }, "nats": func(t testing.TB) migrate.Side { return nats(t) },
	} {
		t.Run(name, func(t *testing.T) {
			home := t.TempDir()
			from, to := files(t, home), open(t)
			sampleHome(t, home, from)
			st := to.(store.Store)
			appendEntries(t, st, "plain", firn.UserText("something else"))
			appendEntries(t, st, "purged", firn.UserText("still here"))
			appendEntries(t, st, "other", firn.UserText("begun here"))
			must(t, to.Bind(t.Context(), "agent:ops:main", "other"))
			r, err := migrate.Run(t.Context(), from, to, migrate.Options{})
			must(t, err)
			var named []string
			for _, d := range r.Differ {
				named = append(named, string(d.Session)+d.Key)
			}
			if got := strings.Join(named, " "); got != "plain purged keyedagent:ops:main" || r.New != 7 {
				t.Errorf("these differ: %q of %+v", got, r)
			}
			if id, err := to.Lookup(t.Context(), "agent:ops:main"); err != nil || id != "other" {
				t.Errorf("the key points at %q now, %v", id, err)
			}
			n := 0
			for range to.Lines(t.Context(), "plain") {
				n++
			}
			if n != 2 {
				t.Errorf("the session that differs has %d lines", n)
			}
		})
	}
}

// TestCopy updates a copy in files with grown, purged, removed and new sessions of a
// cluster. Unchanged sessions must not be read.
func TestCopy(t *testing.T) {
	ctx := t.Context()
	home, copied := t.TempDir(), t.TempDir()
	from, cluster, to := files(t, home), nats(t), files(t, copied)
	sampleHome(t, home, from)
	run(t, from, cluster, migrate.Options{})
	run(t, cluster, to, migrate.Options{Copy: true})
	appendEntries(t, cluster, "plain", firn.Entry{ID: "bbbb0001", Body: firn.UserText("a new secret").Body}, firn.UserText("more"))
	run(t, cluster, to, migrate.Options{Copy: true})
	_, err := cluster.Purge(ctx, "plain", "", "bbbb0001")
	must(t, err)
	_, err = cluster.Purge(ctx, "long", "all of it")
	must(t, err)
	must(t, cluster.Bind(ctx, "agent:ops:main", "plain"))
	r := run(t, cluster, to, migrate.Options{Copy: true, Done: func(h store.Holding) bool { return h.ID == "torn" }})
	if r.Replaced != 1 || r.Purged != 2 || r.Before != 1 || r.Keys != 2 {
		t.Errorf("the copy followed with %+v", r)
	}
	if content := text(t, copied, "main", "plain"); strings.Contains(content, "a new secret") || !strings.Contains(content, "more") {
		t.Errorf("the copy contains %s", content)
	}
	if _, err := os.Stat(path(copied, "main", "long")); !errors.Is(err, os.ErrNotExist) {
		t.Errorf("purged text is in the copy: %v", err)
	}
	if id, err := to.Lookup(ctx, "agent:ops:main"); err != nil || id != "plain" {
		t.Errorf("the key of the copy points at %q, %v", id, err)
	}
}
