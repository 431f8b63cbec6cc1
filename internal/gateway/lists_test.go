package gateway

import (
	"context"
	"fmt"
	"io/fs"
	"maps"
	"math/rand/v2"
	"os"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
	"testing"
	"time"

	"firn.dev"
	"firn.dev/internal/base/basetest"
	"firn.dev/internal/disk/vfs"
	"firn.dev/internal/find/index"
	"firn.dev/internal/formats/dialect"
	"firn.dev/internal/formats/dialect/native"
	"firn.dev/internal/formats/dialect/pi"
	"firn.dev/store"
	"firn.dev/store/filestore"
	"firn.dev/wire"
)

// TestListsMatchFiles applies random operations to sessions, through the gateway and
// the store, and after each compares lists, details and keys with the transcripts; also in
// a copy of the home without key table and indexes, as a killed process leaves it.
func TestListsMatchFiles(t *testing.T) {
	inRooms(t, func(t *testing.T, r *room) {
		l := &lister{room: r, random: basetest.Random(t), keys: make(map[string]bool)}
		for step := range 80 {
			did := l.step()
			l.check(fmt.Sprintf("step %d: %s", step, did))
			if t.Failed() {
				return
			}
		}
	})
}

// lister applies operations to sessions.
type lister struct {
	*room
	random *rand.Rand
	all    []firn.ID
	keys   map[string]bool
	n      int
}

// name returns a unique text.
func (l *lister) name(of string) string {
	l.n++
	return fmt.Sprintf("%s %d", of, l.n)
}

// any returns a random session.
func (l *lister) any() firn.ID {
	if len(l.all) == 0 {
		l.createSession()
	}
	return l.all[l.random.IntN(len(l.all))]
}

func (l *lister) createSession() {
	n := wire.NewSession{CWD: "/" + l.name("dir")}
	if l.random.IntN(2) == 0 {
		n.Key, n.Fresh = l.key(), l.random.IntN(2) == 0
	}
	if l.random.IntN(4) == 0 {
		n.Title = l.name("begun as")
	}
	s, err := l.NewSession(l.ctx, n)
	l.must(err)
	l.note(s.ID)
}

// key returns one of a few keys.
func (l *lister) key() string {
	key := fmt.Sprintf("agent:main:cli:direct:p%d", l.random.IntN(3))
	l.keys[key] = true
	return key
}

func (l *lister) note(id firn.ID) {
	if !slices.Contains(l.all, id) {
		l.all = append(l.all, id)
	}
}

// must fails the test on an unexpected error.
func (l *lister) must(err error) {
	l.t.Helper()
	if err == nil {
		return
	}
	switch p := ProblemOf(err); p.Kind {
	case wire.NotFound, wire.Invalid, wire.Conflict, wire.Ambiguous, wire.Busy:
		return
	}
	l.t.Fatal(err)
}

// talk adds a long message to a session, through the gateway or the library.
func (l *lister) talk(id firn.ID, size int) {
	text := l.name("said") + strings.Repeat(" and so on", size/10)
	if l.random.IntN(2) == 0 {
		_, err := l.Append(l.ctx, id, store.Any, wire.NewEntries{User: text})
		l.must(err)
		return
	}
	_, err := l.st.Append(l.ctx, id, store.Any, firn.UserText(text), firn.Entry{Body: &firn.Message{Role: firn.RoleAssistant, Parts: []firn.Part{firn.Text{Text: text}}}})
	l.must(err)
}

// step applies a random operation and returns its description.
func (l *lister) step() string {
	ops := l.ops()
	names := slices.Sorted(maps.Keys(ops))
	name := names[l.random.IntN(len(names))]
	id := l.any()
	ops[name](id)
	return name + " " + string(id)
}

func (l *lister) ops() map[string]func(id firn.ID) {
	patch := func(p wire.Patch) func(firn.ID) {
		return func(id firn.ID) { _, err := l.Patch(l.ctx, id, p); l.must(err) }
	}
	yes, no := true, false
	return map[string]func(id firn.ID){
		"begin":     func(firn.ID) { l.createSession() },
		"turn":      func(id firn.ID) { _, err := l.Turn(l.ctx, id, wire.Turn{Text: l.name("hello")}); l.must(err) },
		"talk":      func(id firn.ID) { l.talk(id, 20) },
		"long talk": func(id firn.ID) { l.talk(id, 6000) },
		"much talk": func(id firn.ID) { l.talk(id, 6000); l.talk(id, 6000); l.talk(id, 20) },
		"rename":    func(id firn.ID) { title := l.name("called"); patch(wire.Patch{Title: &title})(id) },
		"unname":    func(id firn.ID) { none := ""; patch(wire.Patch{Title: &none})(id) },
		"auto title": func(id firn.ID) {
			l.write(id, firn.Entry{Body: &firn.Title{Name: l.name("auto"), Source: firn.SourceAuto}})
		},
		"tag": func(id firn.ID) {
			tags := []string{fmt.Sprint("t", l.random.IntN(5))}
			patch(wire.Patch{Tags: &tags})(id)
		},
		"model":     func(id firn.ID) { m := "scripted/scripted"; patch(wire.Patch{Model: &m})(id) },
		"hide":      patch(wire.Patch{Hidden: &yes}),
		"show":      patch(wire.Patch{Hidden: &no}),
		"archive":   patch(wire.Patch{Archived: &yes}),
		"unarchive": patch(wire.Patch{Archived: &no}),
		"label": func(id firn.ID) {
			_, err := l.Label(l.ctx, id, wire.Label{Entry: "@head", Name: l.name("label")})
			l.must(err)
		},
		"rewind": func(id firn.ID) { _, err := l.Rewind(l.ctx, id, wire.Move{Back: 1 + l.random.IntN(3)}); l.must(err) },
		"compact": func(id firn.ID) {
			_, err := l.Compact(l.ctx, id, wire.Compact{KeepRecent: 1})
			l.must(err)
		},
		"uncompact": func(id firn.ID) {
			if all, err := l.Compactions(l.ctx, id); err == nil && len(all) > 0 {
				_, err = l.Undo(l.ctx, id, all[len(all)-1].ID)
				l.must(err)
			}
		},
		"fork": func(id firn.ID) {
			s, err := l.Fork(l.ctx, id, wire.Fork{})
			l.must(err)
			if err == nil {
				l.note(s.ID)
			}
		},
		"point":    func(id firn.ID) { _, err := l.PointKey(l.ctx, l.key(), id); l.must(err) },
		"bind":     func(id firn.ID) { l.must(store.Bind(l.ctx, l.st, l.key(), id)) },
		"previous": func(firn.ID) { _, err := l.ContinuePrevious(l.ctx, l.key()); l.must(err) },
		"reset": func(firn.ID) {
			routed, err := l.ResetKey(l.ctx, l.key())
			l.must(err)
			l.note(routed.Session)
		},
		"inbound": func(firn.ID) { l.inbound(l.name("hi")) },
		"/new":    func(firn.ID) { l.inbound("/new") },
		"bin": func(id firn.ID) {
			if len(l.all) > 3 {
				_, err := l.Remove(l.ctx, id, wire.Remove{Bin: true})
				l.must(err)
				l.all = slices.DeleteFunc(l.all, func(other firn.ID) bool { return other == id })
			}
		},
		"load or create": func(firn.ID) {
			id, err := store.LoadOrCreate(l.ctx, l.st, l.key())
			l.must(err)
			l.talk(id, 20)
			l.note(id)
		},
	}
}

func (l *lister) inbound(text string) {
	l.key()
	routed, err := l.Inbound(l.ctx, wire.Inbound{Channel: "cli", PeerKind: "direct", PeerID: fmt.Sprint("p", l.random.IntN(3)), Text: text, Wait: true})
	l.must(err)
	l.keys[routed.Key] = true
	l.note(routed.Session)
}

// truth computes the list row of a session from its entries, by the rules of docs/format.md
// alone.
func (l *lister) truth(st store.Store, id firn.ID) (store.Info, bool) {
	var info store.Info
	var source firn.Source
	info.Empty = true
	stones := make(map[firn.EntryID]bool)
	var order []firn.Tombstone
	var ids []firn.EntryID
	for rec, err := range st.Read(l.ctx, id, store.Start) {
		if err != nil {
			return info, false
		}
		e, err := rec.Entry()
		if err != nil {
			l.t.Fatal(err)
		}
		if info.Created.IsZero() {
			info.Created = e.Time
		}
		if c, ok := e.Body.(*firn.Custom); !ok || !strings.Contains(string(c.Data), `"moved":`) && !(c.Type == resetType && strings.Contains(string(c.Data), `"next":`)) {
			info.Updated = e.Time
		}
		info.End = rec.Next
		switch b := e.Body.(type) {
		case *firn.Header, *firn.ModelChange, *firn.ThinkingChange, *firn.Tombstone:
		case *firn.Custom:
			info.Empty = info.Empty && slices.Contains([]string{"firn.key", "firn.reset", "firn.send", "firn.verbose", "firn.auth"}, b.Type)
		default:
			info.Empty = false
		}
		switch b := e.Body.(type) {
		case *firn.Header:
			info.ID, info.Agent, info.Key, info.CWD = b.Session, b.Agent, b.Key, b.CWD
		case *firn.Title:
			if b.Source != firn.SourceAuto || source == firn.SourceAuto || info.Title == "" {
				info.Title, source = b.Name, b.Source
			}
		case *firn.Message:
			if b.Role == firn.RoleUser && info.Prompt == "" {
				info.Prompt = firn.CutText(b.Text(), 100)
			}
		case *firn.Tombstone:
			order, ids = append(order, *b), append(ids, e.ID)
		case *firn.Custom:
			if tags, ok := store.TagsOf(b); ok {
				info.Tags = store.JoinTags(tags)
			}
			if counts, ok := store.CountsOf(b); ok {
				info.Counts = counts
			}
		}
	}
	for i := len(order) - 1; i >= 0; i-- {
		if !stones[ids[i]] {
			stones[order[i].Target] = true
		}
	}
	info.Hidden = stones[firn.EntryID(id)]
	return info, true
}

// check compares lists, details and keys with the transcripts.
func (l *lister) check(when string) {
	l.t.Helper()
	shown, truths := l.bothEnds(when)
	for _, id := range l.all {
		want, ok := truths[id]
		got, listed := shown[id]
		if !ok || !listed {
			l.t.Errorf("%s: session %s can be read: %t, is listed: %t", when, id, ok, listed)
			continue
		}
		l.compare(when+": the list", got, want)
		s, err := l.Session(l.ctx, string(id))
		if err != nil {
			l.t.Fatalf("%s: %v", when, err)
		}
		if s.Title != want.Title || s.Prompt != want.Prompt || s.Hidden != want.Hidden || strings.Join(s.Tags, ",") != want.Tags || s.CWD != want.CWD {
			l.t.Errorf("%s: the details of %s are %+v, want %+v", when, id, s, want)
		}
	}
	if l.home != "" && !l.t.(*testing.T).Failed() {
		l.checkCopy(when)
	}
}

// infos returns the list rows of all sessions.
func (l *lister) infos(st store.Store, when string) map[firn.ID]store.Info {
	l.t.Helper()
	all := make(map[firn.ID]store.Info)
	for _, q := range []store.Query{{}, {Hidden: true}, {Archived: true}, {Hidden: true, Archived: true}} {
		for info, err := range st.List(l.ctx, q) {
			if err != nil {
				l.t.Fatalf("%s: %v", when, err)
			}
			all[info.ID] = info
		}
	}
	return all
}

func (l *lister) compare(when string, got, want store.Info) {
	l.t.Helper()
	want.BoundKeys, want.Parts, want.Bytes, want.Archived = got.BoundKeys, got.Parts, got.Bytes, got.Archived
	want.Created, want.Updated = want.Created.Round(0).UTC(), want.Updated.Round(0).UTC()
	got.Created, got.Updated = got.Created.Round(0).UTC(), got.Updated.Round(0).UTC()
	if got != want {
		l.t.Errorf("%s has\n%+v, the transcript\n%+v", when, got, want)
	}
}

// bothEnds returns the lists and the transcripts once they have the same ends: the counters
// of a turn are appended after its answer was returned, so a transcript may grow after it was
// listed.
func (l *lister) bothEnds(when string) (shown, truths map[firn.ID]store.Info) {
	l.t.Helper()
	basetest.Eventually(l.t, when+": the lists have the ends of the transcripts", func() bool {
		shown, truths = l.infos(l.st, when), make(map[firn.ID]store.Info)
		for _, id := range l.all {
			if info, ok := l.truth(l.st, id); ok {
				truths[id] = info
			}
		}
		return !slices.ContainsFunc(l.all, func(id firn.ID) bool { return truths[id].End != shown[id].End })
	})
	return shown, truths
}

// checkCopy compares a copy of the home without derived files, as after a crash.
func (l *lister) checkCopy(when string) {
	l.t.Helper()
	home := l.t.(*testing.T).TempDir()
	err := os.CopyFS(home, os.DirFS(l.home))
	if err == nil {
		err = os.RemoveAll(filepath.Join(home, "index"))
	}
	if err == nil {
		err = filepath.WalkDir(home, func(path string, d fs.DirEntry, err error) error {
			if err == nil && d.Name() == "sessions.json" {
				return os.Remove(path)
			}
			return err
		})
	}
	if err != nil {
		l.t.Fatal(err)
	}
	files, err := filestore.Open(home, filestore.Options{Sync: filestore.SyncNever})
	if err != nil {
		l.t.Fatal(err)
	}
	catalog, err := index.Open(vfs.OS{}, filepath.Join(home, "index"), files, index.Options{})
	if err != nil {
		l.t.Fatal(err)
	}
	st := index.Wrap(files, catalog)
	defer st.Close()
	here, there := l.infos(l.st, when), l.infos(st, when)
	for id, info := range here {
		l.compare(when+": the list of the copy", there[id], info)
	}
	for key := range l.keys {
		now, then := lookUp(l.ctx, l.st, key), lookUp(l.ctx, st, key)
		if now != then {
			l.t.Errorf("%s: key %s points at %q, in the copy at %q", when, key, now, then)
		}
	}
}

func lookUp(ctx context.Context, st store.Store, key string) firn.ID {
	keyed, _ := store.As[store.Keyed](st)
	id, err := keyed.Lookup(ctx, key)
	if err != nil {
		return ""
	}
	return id
}

// TestLatest checks that the most recently updated session is listed first, also after a
// reset of its key and an import of old entries.
func TestLatest(t *testing.T) {
	inRooms(t, func(t *testing.T, r *room) {
		latest := func() firn.ID {
			page, err := r.Sessions(r.ctx, SessionQuery{Limit: 1, Empty: true})
			if err != nil || len(page.Items) != 1 {
				t.Fatalf("%+v, %v", page, err)
			}
			return page.Items[0].ID
		}
		key := "agent:main:main"
		s, err := r.NewSession(r.ctx, wire.NewSession{Key: key})
		if err != nil {
			t.Fatal(err)
		}
		if _, err := r.Append(r.ctx, s.ID, store.Any, wire.NewEntries{User: "hello"}); err != nil {
			t.Fatal(err)
		}
		nextMillisecond()
		reset, err := r.ResetKey(r.ctx, key)
		if err != nil || latest() != reset.Session {
			t.Errorf("after a reset the latest is %s, want %s, %v", latest(), reset.Session, err)
		}
		nextMillisecond()
		if _, err := r.PointKey(r.ctx, key, s.ID); err != nil || latest() != s.ID {
			t.Errorf("after the key was set the latest is %s, want %s, %v", latest(), s.ID, err)
		}
		nextMillisecond()
		r.Tools = []dialect.Tool{pi.New(native.New())}
		old := `{"type":"session","version":3,"id":"old","timestamp":"2020-01-01T00:00:00.000Z","cwd":"/"}` + "\n" +
			`{"type":"message","id":"aaaaaaaa","parentId":null,"timestamp":"2020-01-01T00:00:01.000Z","message":{"role":"user","content":"long ago","timestamp":1577836801000}}` + "\n"
		if _, err := r.Import(r.ctx, wire.Import{From: "pi"}, strings.NewReader(old)); err != nil || latest() != "old" {
			t.Errorf("after an import the latest is %s, %v", latest(), err)
		}
	})
}

// nextMillisecond waits until new entries get a later time.
func nextMillisecond() {
	for now := time.Now().UnixMilli(); time.Now().UnixMilli() == now; {
		runtime.Gosched()
	}
}

// TestForkCountsItsMessages checks that a fork counts the copied messages.
func TestForkCountsItsMessages(t *testing.T) {
	inRooms(t, func(t *testing.T, r *room) {
		s, err := r.NewSession(r.ctx, wire.NewSession{})
		if err != nil {
			t.Fatal(err)
		}
		if _, err := r.Append(r.ctx, s.ID, store.Any, wire.NewEntries{User: "hello"}); err != nil {
			t.Fatal(err)
		}
		f, err := r.Fork(r.ctx, s.ID, wire.Fork{})
		if err != nil {
			t.Fatal(err)
		}
		if f, err = r.Session(r.ctx, string(f.ID)); err != nil || f.State.Messages != 1 || f.Counts.Messages != 1 {
			t.Errorf("the fork counts %+v, %+v, %v", f.State, f.Counts, err)
		}
	})
}
