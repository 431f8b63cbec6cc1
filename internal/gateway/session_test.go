package gateway

import (
	"context"
	"fmt"
	"iter"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"firn.dev"
	"firn.dev/internal/gateway/view"
	"firn.dev/provider"
	"firn.dev/provider/scripted"
	"firn.dev/store"
	"firn.dev/wire"
)

// pages returns the sessions of all pages and calls between after each page.
func pages(t *testing.T, r *room, q SessionQuery, between func(page int)) (ids []firn.ID) {
	t.Helper()
	for n := 0; ; n++ {
		page := got(r.Sessions(r.ctx, q))(t)
		for _, s := range page.Items {
			ids = append(ids, s.ID)
		}
		if page.Cursor == "" {
			return ids
		}
		if n > 1000 {
			t.Fatal("the pages never end")
		}
		q.Cursor = page.Cursor
		between(n)
	}
}

func TestSessionsByPages(t *testing.T) {
	inRooms(t, func(t *testing.T, r *room) {
		var want []firn.ID
		for i := range 25 {
			id := firn.ID(fmt.Sprintf("s-%02d", i))
			r.start(firn.Header{Session: id}, at(day(1).Add(time.Duration(i/2)*time.Second), says("", "hello")))
			want = append(want, id)
		}
		slices.SortFunc(want, func(a, b firn.ID) int { // newest first, then by ID
			return strings.Compare(rank(a), rank(b))
		})
		for _, limit := range []int{1, 2, 3, 7, 24, 25, 26, 1 << 40} {
			ids := pages(t, r, SessionQuery{Limit: limit}, func(int) {})
			if !slices.Equal(ids, want) {
				t.Errorf("with pages of %d the sessions are %v, want %v", limit, ids, want)
			}
		}
	})
}

// rank returns the sort key of the sessions in the test above.
func rank(id firn.ID) string {
	var n int
	fmt.Sscanf(string(id), "s-%02d", &n)
	return fmt.Sprintf("%02d-%s", 50-n/2, id)
}

// TestPagesSeeEverySessionOnce walks through the pages while sessions are updated, created
// and hidden. Every untouched session must be seen exactly once.
func TestPagesSeeEverySessionOnce(t *testing.T) {
	inRooms(t, func(t *testing.T, r *room) {
		const n = 40
		for i := range n {
			r.start(firn.Header{Session: firn.ID(fmt.Sprintf("s-%02d", i))}, at(day(1).Add(time.Duration(i)*time.Minute), says("", "hello")))
		}
		ids := pages(t, r, SessionQuery{Limit: 7}, func(page int) {
			r.write(firn.ID(fmt.Sprintf("s-%02d", 3*page)), says("", "again"))   // not seen yet
			r.write(firn.ID(fmt.Sprintf("s-%02d", n-1-page)), says("", "again")) // already seen
			r.start(firn.Header{Session: firn.ID(fmt.Sprint("new-", page))}, says("", "hello"))
		})
		seen := make(map[firn.ID]int)
		for _, id := range ids {
			seen[id]++
		}
		for i := range n {
			id := firn.ID(fmt.Sprintf("s-%02d", i))
			touched := i < 18 && i%3 == 0
			if seen[id] != 1 && !touched || seen[id] > 1 {
				t.Errorf("session %s was seen %d times", id, seen[id])
			}
		}
	})
}

// TestTitlesDoNotSteer checks that titles and prompts contain no terminal control
// characters or direction overrides, and can be used as names in that form.
func TestTitlesDoNotSteer(t *testing.T) {
	inRooms(t, func(t *testing.T, r *room) {
		const id = firn.ID("odd")
		r.start(firn.Header{Session: id}, says("", "say\x1b[2J\u202eolleh"), firn.NewEntry(&firn.Title{Name: "\u202eevil\u202c gpj.exe\x15"}))
		s, err := r.Session(r.ctx, string(id))
		if err != nil || s.Title != "\ufffdevil\ufffd gpj.exe" || s.Prompt != "say [2J\ufffdolleh" {
			t.Errorf("%q %q %v", s.Title, s.Prompt, err)
		}
		if found, err := r.Resolve(r.ctx, s.Title); err != nil || found != id {
			t.Errorf("by its title: %s %v", found, err)
		}
	})
}

func TestSessionsThatMatch(t *testing.T) {
	inRooms(t, func(t *testing.T, r *room) {
		r.start(firn.Header{Session: "plain"}, says("", "What is Snow?"))
		r.start(firn.Header{Session: "titled"}, firn.NewEntry(&firn.Title{Name: "About SNOW"}))
		r.start(firn.Header{Session: "keyed", Key: "agent:work:snow:direct:x", Agent: "work"})
		r.start(firn.Header{Session: "hidden"}, firn.Hide("hidden"))
		r.start(firn.Header{Session: "archived"})
		r.start(firn.Header{Session: "both"}, firn.Hide("both"))
		r.start(firn.Header{Session: "live"})
		defer r.busy("live")()
		yes, no := true, false
		for _, id := range []firn.ID{"archived", "both"} {
			got(r.Patch(r.ctx, id, wire.Patch{Archived: &yes}))(t)
		}
		got(r.Patch(r.ctx, "plain", wire.Patch{Archived: &no}))(t)
		tests := []struct {
			q    SessionQuery
			want string
		}{
			{SessionQuery{}, "plain titled"},
			{SessionQuery{Hidden: true}, ""},
			{SessionQuery{Agent: "work"}, ""},
			{SessionQuery{Empty: true}, "keyed live plain titled"},
			{SessionQuery{Agent: "work", Empty: true}, "keyed"},
			{SessionQuery{Agent: "nobody"}, ""},
			{SessionQuery{Agent: "../x"}, ""},
			{SessionQuery{Key: "agent:work:snow:direct:x", Empty: true}, "keyed"},
			{SessionQuery{Text: "snow", Empty: true}, "keyed plain titled"},
			{SessionQuery{Text: "SNOW?"}, "plain"},
			{SessionQuery{Text: "rain"}, ""},
			{SessionQuery{Hidden: true, Empty: true}, "hidden"},
			{SessionQuery{Archived: true, Empty: true}, "archived"},
			{SessionQuery{Archived: true, Hidden: true, Empty: true}, "both"},
			{SessionQuery{Live: true}, "live"},
			{SessionQuery{Limit: -5, Empty: true}, "keyed live plain titled"},
		}
		for _, test := range tests {
			page, err := r.Sessions(r.ctx, test.q)
			if err != nil {
				t.Errorf("%+v: %v", test.q, err)
				continue
			}
			var ids []string
			for _, s := range page.Items {
				ids = append(ids, string(s.ID))
				if s.Live != (s.ID == "live") || s.Hidden != test.q.Hidden || s.Archived != test.q.Archived || s.State != nil {
					t.Errorf("%+v gives %+v", test.q, s)
				}
			}
			slices.Sort(ids)
			same(t, fmt.Sprintf("%+v", test.q), strings.Join(ids, " "), test.want)
			if page.Total != len(ids) || page.Cursor != "" || page.Items == nil {
				t.Errorf("%+v: the total is %d, the cursor %q", test.q, page.Total, page.Cursor)
			}
		}
		page := got(r.Sessions(r.ctx, SessionQuery{Limit: 1, Empty: true}))(t)
		if _, counts := store.As[pager](r.st); counts && page.Total != 4 || !counts && page.Total != -1 {
			t.Errorf("a page that examined few sessions gives the total %d", page.Total)
		}
		if page = got(r.Sessions(r.ctx, SessionQuery{Limit: 1, Count: true, Empty: true}))(t); page.Total != 4 {
			t.Errorf("on request the total is %d", page.Total)
		}
		for _, cursor := range []string{"x", "1.2", "1.2.../x", "99999999999999999999.0.a", "1.2.a_part2", strings.Repeat("9", 10000)} {
			_, err := r.Sessions(r.ctx, SessionQuery{Cursor: cursor})
			isKind(t, fmt.Sprintf("cursor %.40q", cursor), err, wire.Invalid)
		}
	})
}

func TestSessionState(t *testing.T) {
	inRooms(t, func(t *testing.T, r *room) {
		id := r.start(firn.Header{CWD: "/here", Key: "agent:main:main"})
		keyed, _ := store.As[store.Keyed](r.st)
		if err := keyed.Bind(r.ctx, "agent:main:main", id); err != nil {
			t.Fatal(err)
		}
		for i := range 2 {
			if _, err := r.Turn(r.ctx, id, wire.Turn{Text: fmt.Sprint("say ", i)}); err != nil {
				t.Fatal(err)
			}
		}
		s := got(r.Session(r.ctx, "@main"))(t)
		st := s.State
		if s.ID != id || s.CWD != "/here" || !s.Current || s.Prompt != "say 0" || s.Live || s.Parts != 1 || s.Fault != "" || st == nil {
			t.Fatalf("the session is %+v", s)
		}
		if st.Provider != "scripted" || st.Model != "scripted" || st.Turns != 2 || st.Counters.Answers != 2 || st.Counters.Cost != 4 || st.Interrupted {
			t.Errorf("its state is %+v", *st)
		}
		if st.Window != (wire.Usage{Tokens: 50, Window: provider.AssumedWindow}) {
			t.Errorf("its window is %+v", st.Window)
		}
		if r.home != "" {
			if len(s.Files) != 1 || filepath.Base(s.Files[0]) != string(id)+".jsonl" || s.Bytes == 0 {
				t.Errorf("its files are %v, %d bytes", s.Files, s.Bytes)
			}
			info, err := os.Stat(s.Files[0])
			if err != nil || info.Size() != s.Bytes {
				t.Errorf("the file has %v bytes (%v), reported are %d", info, err, s.Bytes)
			}
		}
		r.write(id, says("", "and now?"))
		if s := got(r.Session(r.ctx, string(id)))(t); !s.State.Interrupted || s.State.Window.Tokens <= 50 || !s.State.Window.Estimated {
			t.Errorf("with an unanswered message the state is %+v", *s.State)
		}
	})
}

// TestSessionsWithoutAgent checks that an empty session, or one of an unknown agent, can be
// viewed.
func TestSessionsWithoutAgent(t *testing.T) {
	inRooms(t, func(t *testing.T, r *room) {
		gone := r.start(firn.Header{Agent: "retired"}, says("user-1", "hello"), answers("answer-1", "hi"))
		s := got(r.Session(r.ctx, string(gone)))(t)
		if s.State == nil || s.State.Model != "scripted" || s.State.Window != (wire.Usage{Tokens: 50, Window: provider.AssumedWindow, Assumed: true}) {
			t.Errorf("for a removed agent: %+v, %+v", s, s.State)
		}
		w := got(r.Window(r.ctx, gone, ""))(t)
		if w.Count != 2 || !w.Usage.Assumed {
			t.Errorf("its window is %+v", w)
		}
		_, err := r.Window(r.ctx, gone, "model")
		isKind(t, "its request", err, wire.NotFound)
		empty := r.start(firn.Header{})
		s = got(r.Session(r.ctx, string(empty)))(t)
		if s.State == nil || s.State.Head != "" || s.State.Interrupted {
			t.Errorf("an empty session is %+v, %+v", s, s.State)
		}
		if w := got(r.Window(r.ctx, empty, ""))(t); w.Count != 0 || len(w.In) != 0 || len(w.Out) != 0 || w.Items == nil {
			t.Errorf("its window is %+v", w)
		}
	})
}

// TestDamagedSessions checks that a damaged session is listed with its fault and does not
// affect others.
func TestDamagedSessions(t *testing.T) {
	r := fileRoom(t)
	good := r.talk(2)
	dir := filepath.Join(r.home, "agents", "main", "sessions")
	files := map[firn.ID]string{
		"garbage":  "this is not JSON at all\n",
		"torn":     `{"type":"session","version":3,"id":"torn","timestamp":"2026-03-01T12:00:00.000Z","cwd":"/"}` + "\n" + `{"type":"message","id":"m1","par`,
		"zeros":    `{"type":"session","version":3,"id":"zeros","timestamp":"2026-03-01T12:00:00.000Z","cwd":"/"}` + "\n" + strings.Repeat("\x00", 4096),
		"dangling": `{"type":"session","version":3,"id":"dangling","timestamp":"2026-03-01T12:00:00.000Z","cwd":"/"}` + "\n" + `{"type":"message","id":"m1","parentId":"nowhere","timestamp":"2026-03-01T12:00:00.000Z","message":{"role":"user","content":"hi","timestamp":1}}` + "\n",
	}
	for id, text := range files {
		if err := os.WriteFile(filepath.Join(dir, string(id)+".jsonl"), []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	page := got(r.Sessions(r.ctx, SessionQuery{}))(t)
	if len(page.Items) != 5 {
		t.Errorf("%d sessions are listed", len(page.Items))
	}
	for id := range files {
		s, err := r.Session(r.ctx, string(id))
		if err != nil || s.ID != id {
			t.Errorf("session %s: %+v, %v", id, s, err)
		}
		if (id == "garbage") != (s.Fault != "") {
			t.Errorf("session %s: the fault is %q", id, s.Fault)
		}
		for _, look := range []string{wire.ViewDisk, wire.ViewBranch, wire.ViewWindow} {
			for _, back := range []bool{false, true} {
				page, err := r.Entries(r.ctx, id, view.EntryQuery{View: look, Back: back})
				if err != nil {
					t.Errorf("session %s, view %s: %v", id, look, err)
				}
				gaps := slices.ContainsFunc(page.Items, func(e wire.Entry) bool { return e.Gap != "" })
				if gaps != (look == wire.ViewDisk && id != "dangling" || id == "garbage" || id == "zeros") {
					t.Errorf("session %s, view %s: there are gaps: %v", id, look, gaps)
				}
			}
		}
		if _, err := r.Tree(r.ctx, id, 0, ""); err != nil {
			t.Errorf("session %s: tree: %v", id, err)
		}
		if _, err := r.Window(r.ctx, id, ""); err != nil {
			t.Errorf("session %s: window: %v", id, err)
		}
		if _, err := r.Fork(r.ctx, id, wire.Fork{}); err != nil {
			t.Errorf("session %s: fork: %v", id, err)
		}
	}
	if s := got(r.Session(r.ctx, string(good)))(t); s.State.Turns != 2 {
		t.Errorf("the good one is %+v", s)
	}
}

func TestNewSession(t *testing.T) {
	inRooms(t, func(t *testing.T, r *room) {
		plain := got(r.NewSession(r.ctx, wire.NewSession{CWD: "/x", Title: "  my \n title ", Agent: "work"}))(t)
		if plain.Agent != "work" || plain.CWD != "/x" || plain.Title != "my title" || plain.Key != "" {
			t.Errorf("a new session is %+v", plain)
		}
		other := got(r.NewSession(r.ctx, wire.NewSession{}))(t)
		if other.Agent != "main" || other.ID == plain.ID {
			t.Errorf("another one is %+v", other)
		}
		first := got(r.NewSession(r.ctx, wire.NewSession{Key: "cli:direct:you", CWD: "/y"}))(t)
		if first.Key != "agent:main:cli:direct:you" || !first.Current || first.CWD != "/y" {
			t.Errorf("the session of a key is %+v", first)
		}
		again := got(r.NewSession(r.ctx, wire.NewSession{Key: "agent:main:cli:direct:you", Title: "ignored"}))(t)
		if again.ID != first.ID || again.Title != "" {
			t.Errorf("requested again it is %+v", again)
		}
		fresh := got(r.NewSession(r.ctx, wire.NewSession{Key: "cli:direct:you", Fresh: true, Title: "fresh"}))(t)
		if fresh.ID == first.ID || !fresh.Current || fresh.Title != "fresh" {
			t.Errorf("a fresh one is %+v", fresh)
		}
		if s := got(r.Session(r.ctx, string(first.ID)))(t); s.Current {
			t.Error("the old one is still current")
		}
		for what, n := range map[string]wire.NewSession{
			"another agent's key": {Key: "agent:main:x", Agent: "work"},
			"a long title":        {Title: strings.Repeat("é", 201)},
			"a bad key":           {Key: "a\x00b"},
			"a long key":          {Key: strings.Repeat("k", 5000)},
		} {
			_, err := r.NewSession(r.ctx, n)
			isKind(t, what, err, wire.Invalid)
		}
		for what, n := range map[string]wire.NewSession{
			"an unknown agent":          {Agent: "nobody"},
			"an agent by a path":        {Agent: "../main"},
			"the key of an unknown one": {Key: "agent:nobody:main"},
		} {
			_, err := r.NewSession(r.ctx, n)
			isKind(t, what, err, wire.NotFound)
		}
	})
}

func TestOneSessionForAKey(t *testing.T) {
	inRooms(t, func(t *testing.T, r *room) {
		var mu sync.Mutex
		given := make(map[firn.ID]int)
		var all sync.WaitGroup
		for range 8 {
			all.Go(func() {
				s, err := r.NewSession(r.ctx, wire.NewSession{Key: "cli:direct:you"})
				if err != nil {
					t.Error(err)
				}
				mu.Lock()
				defer mu.Unlock()
				given[s.ID]++
			})
		}
		all.Wait()
		if len(given) != 1 {
			t.Errorf("they got %v", given)
		}
		if page := got(r.Sessions(r.ctx, SessionQuery{Key: "agent:main:cli:direct:you", Empty: true}))(t); len(page.Items) != 1 {
			t.Errorf("%d sessions of the key are listed", len(page.Items))
		}
	})
}

func TestPatch(t *testing.T) {
	inRooms(t, func(t *testing.T, r *room) {
		id := r.talk(1)
		ptr := func(s string) *string { return &s }
		yes, no := true, false
		s := got(r.Patch(r.ctx, id, wire.Patch{
			Title: ptr("new name"), Model: ptr("scripted/other"), Thinking: ptr("high"), Verbose: ptr("on"), Send: ptr("off"), Archived: &yes, Hidden: &yes,
		}))(t)
		if s.Title != "new name" || !s.Archived || !s.Hidden || s.State.Model != "other" || s.State.Thinking != "high" || s.State.Verbose != "on" || s.State.Send != "deny" {
			t.Errorf("the session is %+v, %+v", s, s.State)
		}
		s = got(r.Patch(r.ctx, id, wire.Patch{Title: ptr(""), Send: ptr("inherit"), Archived: &no, Hidden: &no}))(t)
		if s.Title != "" || s.Archived || s.Hidden || s.State.Model != "other" || s.State.Send != "" {
			t.Errorf("changed back it is %+v, %+v", s, s.State)
		}
		end := s.End
		if s = got(r.Patch(r.ctx, id, wire.Patch{Hidden: &no}))(t); s.End != end {
			t.Error("showing an entry that is not hidden wrote something")
		}
		bad := map[string]wire.Patch{
			"a long title": {Title: ptr(strings.Repeat("x", 201))}, "a model without provider": {Model: ptr("other")}, "no model": {Model: ptr("")},
			"an unknown level": {Thinking: ptr("very")}, "no level": {Thinking: ptr("")}, "verbose": {Verbose: ptr("loud")}, "send": {Send: ptr("maybe")},
			"good and bad": {Title: ptr("good"), Thinking: ptr("bad")}, "send bad and a model": {Model: ptr("scripted/scripted"), Send: ptr("bad")},
		}
		for what, p := range bad {
			_, err := r.Patch(r.ctx, id, p)
			isKind(t, what, err, wire.Invalid)
		}
		_, err := r.Patch(r.ctx, id, wire.Patch{Model: ptr("scripted/none")})
		isKind(t, "a model that is not there", err, wire.NotFound)
		_, err = r.Patch(r.ctx, "nobody", wire.Patch{Title: ptr("x")})
		isKind(t, "no session", err, wire.NotFound)
		_, err = r.Patch(r.ctx, "../x", wire.Patch{Title: ptr("x")})
		isKind(t, "no id", err, wire.Invalid)
		if s = got(r.Session(r.ctx, string(id)))(t); s.End != end {
			t.Error("a rejected request wrote something")
		}
	})
}

// TestBatchUndo changes all overridable settings of a session in a batch and applies the
// patch that undoes it: settings that were not set for the session are not set afterwards.
func TestBatchUndo(t *testing.T) {
	inRooms(t, func(t *testing.T, r *room) {
		id := r.talk(1)
		chosen := func() firn.State {
			state := got(r.Path(r.ctx, id))(t).Chosen
			state.Send = strings.TrimSuffix(state.Send, sendInherit) // the default
			return state
		}
		for _, own := range []wire.Patch{
			{Title: new("")},
			{Title: new("mine"), Thinking: new("low")},
			{Model: new("scripted/scripted"), Thinking: new("low"), Verbose: new("on"), Send: new("allow")},
		} {
			got(r.Patch(r.ctx, id, own))(t)
			was, state := got(r.Session(r.ctx, string(id)))(t), chosen()
			results := got(r.Batch(r.ctx, wire.Batch{IDs: []firn.ID{id}, Patch: wire.Patch{
				Title: new("other"), Model: new("scripted/other"), Thinking: new("high"), Verbose: new("off"), Send: new("deny"), Archived: new(true), Hidden: new(true), Tags: &[]string{"x"},
			}}))(t)
			if results[0].Error != "" || chosen() == state {
				t.Fatalf("the batch results in %+v and %+v", results, chosen())
			}
			now := got(r.Patch(r.ctx, id, *results[0].Before))(t)
			if now.Title != was.Title || now.Archived || now.Hidden || len(now.Tags) != 0 || now.State.Model != was.State.Model || now.State.Thinking != was.State.Thinking {
				t.Errorf("undone it is %+v, before it was %+v", now, was)
			}
			if chosen() != state {
				t.Errorf("undone by %+v, the session's own settings are %+v, before they were %+v", *results[0].Before, chosen(), state)
			}
		}
	})
}

// TestSettingsSurviveCompaction checks that settings survive a compaction.
func TestSettingsSurviveCompaction(t *testing.T) {
	inRooms(t, func(t *testing.T, r *room) {
		id := r.talkAtLength(4)
		deny := "deny"
		got(r.Patch(r.ctx, id, wire.Patch{Send: &deny}))(t)
		r.write(id, says("user-5", "more"), answers("answer-5", "yes"))
		got(r.Compact(r.ctx, id, wire.Compact{KeepRecent: 1}))(t)
		if s := got(r.Session(r.ctx, string(id)))(t); s.State.Send != "deny" || s.State.Compactions != 1 {
			t.Errorf("after a compaction the state is %+v", s.State)
		}
	})
}

// TestSessionWhileATurnRuns checks that a session can be viewed while its model is busy.
func TestSessionWhileATurnRuns(t *testing.T) {
	inRooms(t, func(t *testing.T, r *room) {
		asked, gate := make(chan struct{}), make(chan struct{})
		slow := scripted.Func(scripted.Info(), func(ctx context.Context, req provider.Request) iter.Seq2[provider.Event, error] {
			step := scripted.Reply("done")
			step.Before = func(context.Context) error {
				close(asked)
				<-gate
				return nil
			}
			return r.model.Play(ctx, req, step)
		})
		r.setup.Load().Agents["main"].Model = slow
		id := r.talk(1)
		answered := make(chan error, 1)
		go func() {
			_, err := r.Turn(context.Background(), id, wire.Turn{Text: "hm?"})
			answered <- err
		}()
		<-asked
		s := got(r.Session(r.ctx, string(id)))(t)
		if !s.Live || s.State.Interrupted || s.State.Turns != 2 {
			t.Errorf("while it runs it is %+v, %+v", s, s.State)
		}
		if page := got(r.Sessions(r.ctx, SessionQuery{Live: true}))(t); len(page.Items) != 1 {
			t.Errorf("%d sessions are live", len(page.Items))
		}
		_, err := r.Rewind(r.ctx, id, wire.Move{Back: 1})
		isKind(t, "rewind", err, wire.Busy)
		got(r.Label(r.ctx, id, wire.Label{Entry: "user-1", Name: "start"}))(t)
		close(gate)
		if err := <-answered; err != nil {
			t.Error(err)
		}
		if entry := got(r.FindEntry(r.ctx, id, "start"))(t); entry != "user-1" {
			t.Errorf("the label is on %s", entry)
		}
	})
}
