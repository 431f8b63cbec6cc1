package api_test

import (
	"context"
	"encoding/json"
	"fmt"
	"io"
	"iter"
	"net/http"
	"net/textproto"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"firn.dev"
	"firn.dev/internal/disk/vfs"
	"firn.dev/internal/door/api"
	"firn.dev/internal/door/token"
	"firn.dev/internal/gateway"
	"firn.dev/internal/gateway/view"
	"firn.dev/store"
	"firn.dev/wire"
)

// fake is a gateway without a store. Tests define its sessions, and it records its calls.
type fake struct {
	mu       sync.Mutex
	sessions []wire.Session
	asked    []string
	// log holds the log events of every session; more wakes its followers.
	log  map[firn.ID][]wire.Event
	more chan struct{}
	// turn, if not nil, implements a turn.
	turn func(ctx context.Context, id firn.ID, t wire.Turn) (wire.Answer, error)
	// stream, if not nil, implements a streamed turn.
	stream func(ctx context.Context) iter.Seq2[wire.Event, error]
	// live receives events outside the log.
	live chan wire.Event
	fail error
	// hold, if not nil, blocks tree requests.
	hold func()
	// exact, if not nil, is the line of every entry and the request of every window.
	exact json.RawMessage
}

func newFake(sessions ...wire.Session) *fake {
	f := &fake{sessions: sessions, log: make(map[firn.ID][]wire.Event), more: make(chan struct{}), live: make(chan wire.Event, 64)}
	return f
}

func (f *fake) note(format string, args ...any) error {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.asked = append(f.asked, fmt.Sprintf(format, args...))
	return f.fail
}

// was returns the calls since the last time.
func (f *fake) was() []string {
	f.mu.Lock()
	defer f.mu.Unlock()
	asked := f.asked
	f.asked = nil
	return asked
}

// add appends an entry to the log of a session.
func (f *fake) add(id firn.ID, text string) {
	f.mu.Lock()
	defer f.mu.Unlock()
	pos := firn.Pos(len(f.log[id])+1) * 10
	line, _ := json.Marshal(map[string]string{"text": text})
	data, _ := json.Marshal(wire.Entry{At: pos - 10, Next: pos, Line: line})
	f.log[id] = append(f.log[id], wire.Event{Name: wire.EntryAppended, Session: id, Pos: pos, Data: data})
	close(f.more)
	f.more = make(chan struct{})
}

func (f *fake) find(ref string) (wire.Session, error) {
	f.mu.Lock()
	defer f.mu.Unlock()
	var found []wire.Session
	for _, s := range f.sessions {
		if string(s.ID) == ref || s.Title == ref || "@"+s.Key == ref || len(ref) >= 4 && strings.HasPrefix(string(s.ID), ref) {
			found = append(found, s)
		}
	}
	switch len(found) {
	case 0:
		return wire.Session{}, &wire.Problem{Kind: wire.NotFound, Message: fmt.Sprintf("there is no session %q", ref)}
	case 1:
		return found[0], nil
	}
	return wire.Session{}, &wire.Problem{Kind: wire.Ambiguous, Message: "it means several", Hint: string(found[0].ID) + ", " + string(found[1].ID)}
}

func (f *fake) Sessions(_ context.Context, q gateway.SessionQuery) (wire.Page[wire.Session], error) {
	err := f.note("Sessions %+v", q)
	f.mu.Lock()
	defer f.mu.Unlock()
	page := wire.Page[wire.Session]{Total: len(f.sessions)}
	for _, s := range f.sessions {
		if string(s.ID) <= q.Cursor || q.Agent != "" && s.Agent != q.Agent {
			continue
		}
		if len(page.Items) == max(q.Limit, 1) {
			page.Cursor = string(page.Items[len(page.Items)-1].ID)
			break
		}
		page.Items = append(page.Items, s)
	}
	return page, err
}

func (f *fake) Session(_ context.Context, ref string) (wire.Session, error) {
	s, err := f.find(ref)
	if err == nil {
		err = f.note("Session %s", ref)
	}
	return s, err
}

func (f *fake) Resolve(_ context.Context, ref string) (firn.ID, error) {
	s, err := f.find(ref)
	return s.ID, err
}

func (f *fake) NewSession(_ context.Context, n wire.NewSession) (wire.Session, error) {
	return wire.Session{ID: "new", Agent: n.Agent, Key: n.Key}, f.note("NewSession %+v", n)
}

func (f *fake) Patch(_ context.Context, id firn.ID, p wire.Patch) (wire.Session, error) {
	return wire.Session{ID: id, Title: *cmpOr(p.Title, new(string))}, f.note("Patch %s", id)
}

func cmpOr[T any](p, usual *T) *T {
	if p == nil {
		return usual
	}
	return p
}

func (f *fake) Remove(_ context.Context, id firn.ID, r wire.Remove) (wire.Removed, error) {
	return wire.Removed{Session: id, Bin: r.Bin}, f.note("Remove %s %+v", id, r)
}

func (f *fake) Restore(_ context.Context, id firn.ID) (wire.Session, error) {
	return wire.Session{ID: id}, f.note("Restore %s", id)
}

func (f *fake) Purge(_ context.Context, id firn.ID, e wire.Erase) (wire.Receipt, error) {
	return wire.Receipt{Session: id, Files: []string{}}, f.note("Purge %s %+v", id, e)
}

func (f *fake) Bin(context.Context) (wire.Bin, error) {
	items := []wire.Binned{{Session: "bbbb-1", Agent: "main", Bytes: 5}, {Session: "bbbb-2", Agent: "other", Key: "agent:other:x", Bytes: 7}}
	return wire.Bin{Items: items, Total: len(items), Bytes: 12}, f.note("Bin")
}

func (f *fake) FileChanges(_ context.Context, id firn.ID, diff bool) (wire.Page[wire.FileStep], error) {
	return wire.Page[wire.FileStep]{Items: []wire.FileStep{}}, f.note("FileChanges %s %v", id, diff)
}

func (f *fake) RewindFiles(_ context.Context, id firn.ID, o wire.FileRewind) (wire.FilesRewound, error) {
	return wire.FilesRewound{Session: id, Steps: []wire.FileStep{}}, f.note("RewindFiles %s %d %v", id, o.Back, o.Plan)
}

func (f *fake) Blame(_ context.Context, path string) (wire.Blame, error) {
	return wire.Blame{Path: path, Lines: []wire.BlamedLine{}}, f.note("Blame %s", path)
}

func (f *fake) EmptyBin(_ context.Context, e wire.EmptyBin) (wire.EmptiedBin, error) {
	return wire.EmptiedBin{Plan: e.Plan, Items: []wire.Binned{}}, f.note("EmptyBin %v %v", e.Sessions, e.Sure)
}

func (f *fake) Entries(_ context.Context, id firn.ID, q view.EntryQuery) (wire.Page[wire.Entry], error) {
	page := wire.Page[wire.Entry]{}
	if f.exact != nil {
		page.Items = []wire.Entry{{Next: 9, Line: f.exact}}
	}
	return page, f.note("Entries %s %+v", id, q)
}

func (f *fake) Append(_ context.Context, id firn.ID, expect firn.Pos, n wire.NewEntries) (wire.Appended, error) {
	if expect != store.Any && expect != 70 {
		return wire.Appended{}, &store.Conflict{ID: id, Expect: expect, End: 70}
	}
	return wire.Appended{IDs: []firn.EntryID{"e"}, End: 80}, f.note("Append %s %d %d %q", id, expect, len(n.Entries), n.User)
}

func (f *fake) Children(_ context.Context, id firn.ID) ([]wire.Session, error) {
	return []wire.Session{}, f.note("Children %s", id)
}

func (f *fake) Damage(_ context.Context, id firn.ID) (wire.Page[wire.Damage], error) {
	return wire.Page[wire.Damage]{Items: []wire.Damage{}}, f.note("Damage %s", id)
}

func (f *fake) Tree(_ context.Context, id firn.ID, limit int, cursor string) (wire.Tree, error) {
	if f.hold != nil {
		f.hold()
	}
	return wire.Tree{Session: id}, f.note("Tree %s %d %s", id, limit, cursor)
}

func (f *fake) Window(_ context.Context, id firn.ID, as string) (wire.Window, error) {
	return wire.Window{Session: id, Request: f.exact}, f.note("Window %s %s", id, as)
}

func (f *fake) Label(_ context.Context, id firn.ID, l wire.Label) (wire.Appended, error) {
	return wire.Appended{}, f.note("Label %s %+v", id, l)
}

func (f *fake) Hide(_ context.Context, id firn.ID, h wire.Hide) (wire.Appended, error) {
	return wire.Appended{}, f.note("Hide %s %+v", id, h)
}

func (f *fake) Show(_ context.Context, id firn.ID, h wire.Hide) (wire.Appended, error) {
	return wire.Appended{}, f.note("Show %s %+v", id, h)
}

func (f *fake) Fork(_ context.Context, id firn.ID, k wire.Fork) (wire.Session, error) {
	return wire.Session{ID: "fork", Parent: string(id)}, f.note("Fork %s %+v", id, k)
}

func (f *fake) Rewind(_ context.Context, id firn.ID, m wire.Move) (wire.Moved, error) {
	return wire.Moved{Session: id}, f.note("Rewind %s %+v", id, m)
}

func (f *fake) Compactions(_ context.Context, id firn.ID) ([]wire.Compaction, error) {
	return nil, f.note("Compactions %s", id)
}

func (f *fake) Compact(_ context.Context, id firn.ID, q wire.Compact) (wire.Compacted, error) {
	return wire.Compacted{}, f.note("Compact %s %+v", id, q)
}

func (f *fake) Undo(_ context.Context, id firn.ID, c firn.EntryID) (wire.Compaction, error) {
	return wire.Compaction{}, f.note("Undo %s %s", id, c)
}

func (f *fake) Redo(_ context.Context, id firn.ID, c firn.EntryID) (wire.Compaction, error) {
	return wire.Compaction{}, f.note("Redo %s %s", id, c)
}

func (f *fake) Turn(ctx context.Context, id firn.ID, t wire.Turn) (wire.Answer, error) {
	if err := f.note("Turn %s %q %s", id, t.Text, t.ID); err != nil {
		return wire.Answer{}, err
	}
	if f.turn != nil {
		return f.turn(ctx, id, t)
	}
	return wire.Answer{Session: id, Text: "you said " + t.Text}, nil
}

func (f *fake) StreamTurn(ctx context.Context, id firn.ID, t wire.Turn) iter.Seq2[wire.Event, error] {
	if f.stream != nil {
		return f.stream(ctx)
	}
	return func(yield func(wire.Event, error) bool) {
		if err := f.note("StreamTurn %s %q %s", id, t.Text, t.ID); err != nil {
			yield(wire.Event{}, err)
			return
		}
		for _, e := range []wire.Event{
			{Name: wire.TurnStarted, Session: id},
			{Name: wire.DeltaText, Session: id, Data: json.RawMessage(`{"text":"<you>\nsaid"}`)},
			{Name: wire.TurnCompleted, Session: id, Data: json.RawMessage(`{"text":"it"}`)},
		} {
			if !yield(e, nil) {
				return
			}
		}
	}
}

func (f *fake) AnswerOnce(_ context.Context, q wire.Once) iter.Seq2[wire.Event, error] {
	return func(yield func(wire.Event, error) bool) {
		if err := f.note("AnswerOnce %s %d", q.Agent, len(q.Entries)); err != nil {
			yield(wire.Event{}, err)
			return
		}
		yield(wire.Event{Name: wire.TurnCompleted, Data: json.RawMessage(`{"text":"it"}`)}, nil)
	}
}

func (f *fake) StopAll(_ context.Context, id firn.ID) (wire.Stopped, error) {
	return wire.Stopped{Stopped: true}, f.note("Stop %s", id)
}

func (f *fake) ChangeQueue(_ context.Context, id firn.ID, c wire.QueueChange) (wire.Queue, error) {
	return wire.Queue{Items: []wire.Waiting{}}, f.note("ChangeQueue %s %v %v", id, c.Order, c.Remove)
}

func (f *fake) Approvals(_ context.Context, id firn.ID) ([]wire.Approval, error) {
	return []wire.Approval{{Call: "c1", Name: "shell", Digest: "d"}}, f.note("Approvals %s", id)
}

func (f *fake) AnswerCall(_ context.Context, id firn.ID, call string, r wire.ClientResult) (wire.CallAccepted, error) {
	return wire.CallAccepted{Call: call}, f.note("AnswerCall %s %s %s %s", id, call, r.Digest, r.Text)
}

func (f *fake) AnswerApproval(_ context.Context, id firn.ID, call string, a wire.ApprovalAnswer) (wire.ApprovalAnswer, error) {
	return a, f.note("AnswerApproval %s %s %+v", id, call, a)
}

func (f *fake) Events(ctx context.Context, id firn.ID, after firn.Pos) iter.Seq2[wire.Event, error] {
	return func(yield func(wire.Event, error) bool) {
		if err := f.note("Events %s %d", id, after); err != nil {
			yield(wire.Event{}, err)
			return
		}
		for {
			f.mu.Lock()
			events, more := f.log[id], f.more
			f.mu.Unlock()
			for _, e := range events {
				if e.Pos <= after {
					continue
				}
				after = e.Pos
				if !yield(e, nil) {
					return
				}
			}
			select {
			case <-more:
			case e := <-f.live:
				if !yield(e, nil) {
					return
				}
			case <-ctx.Done():
				return
			}
		}
	}
}

func (f *fake) CheckPosition(context.Context, firn.ID, firn.Pos) error { return nil }

func (f *fake) AllEvents(ctx context.Context) iter.Seq2[wire.Event, error] {
	return func(yield func(wire.Event, error) bool) {
		f.note("AllEvents")
		for {
			select {
			case e := <-f.live:
				if !yield(e, nil) {
					return
				}
			case <-ctx.Done():
				return
			}
		}
	}
}

func (f *fake) Inbound(_ context.Context, in wire.Inbound) (wire.Routed, error) {
	return wire.Routed{Key: "agent:main:x"}, f.note("Inbound %s %q %s", in.Agent, in.Text, in.ID)
}

func (f *fake) Keys(_ context.Context, q gateway.KeyQuery) (wire.Page[wire.Key], error) {
	keys := []wire.Key{}
	for _, s := range f.sessions {
		if s.Key != "" && (q.Visible == nil || q.Visible(s.Agent, s.Key)) {
			keys = append(keys, wire.Key{Key: s.Key, Agent: s.Agent, Session: s.ID})
		}
	}
	return wire.Page[wire.Key]{Items: keys, Total: len(keys)}, f.note("Keys %s", q.Agent)
}

func (f *fake) Key(_ context.Context, key string) (wire.Key, error) {
	return wire.Key{Key: key}, f.note("Key %s", key)
}

func (f *fake) RemoveKey(_ context.Context, key string) (wire.Key, error) {
	return wire.Key{Key: key}, f.note("RemoveKey %s", key)
}

func (f *fake) PointKey(_ context.Context, key string, id firn.ID) (wire.Key, error) {
	return wire.Key{Key: key, Session: id}, f.note("PointKey %s %s", key, id)
}

func (f *fake) ResetKey(_ context.Context, key string) (wire.Routed, error) {
	return wire.Routed{Key: key}, f.note("ResetKey %s", key)
}

func (f *fake) ContinuePrevious(_ context.Context, key string) (wire.Key, error) {
	return wire.Key{Key: key}, f.note("ContinuePrevious %s", key)
}

func (f *fake) CanonicalKey(key string) (string, error) {
	key = strings.ToLower(key)
	if !strings.HasPrefix(key, "agent:") {
		key = "agent:main:" + key
	}
	return key, nil
}

func (f *fake) KeyOf(in wire.Inbound) (string, error) {
	agent := in.Agent
	if agent == "" {
		agent = "main"
	}
	return "agent:" + agent + ":" + in.Channel + ":" + in.PeerKind + ":" + in.PeerID, nil
}

func (f *fake) HookToken(name string) (string, error) {
	token, ok := map[string]string{"deploy": "deployer", "signed": "", "timed": "", "both": "deployer"}[name]
	if !ok {
		return "", &wire.Problem{Kind: wire.NotFound, Message: "there is no hook " + name}
	}
	return token, nil
}

// hookSecret is the signing secret of the hooks signed, timed and both.
const hookSecret = "It's a Secret to Everybody"

func (f *fake) HookSignature(name string) *gateway.Signature {
	switch name {
	case "signed", "both":
	case "timed":
		return gateway.NewSignature(gateway.SignedSlack, "", hookSecret)
	default:
		return nil
	}
	return gateway.NewSignature(gateway.SignedGitHub, "X-Hub-Signature-256", hookSecret)
}

func (f *fake) Hook(_ context.Context, name string, body []byte, headers textproto.MIMEHeader) (wire.Routed, error) {
	if name == "timed" {
		return wire.Routed{}, f.note("Hook timed %s", headers.Get("Idempotency-Key"))
	}
	return wire.Routed{Key: "agent:main:hook:1"}, f.note("Hook %s %q %s %q", name, body, headers.Get("Content-Type"), headers.Get("Authorization"))
}

func (f *fake) Search(_ context.Context, q wire.SearchQuery, owners gateway.Owners) (wire.Found, error) {
	hit := wire.Hit{Session: "aaaa-1", Entry: "e1", Agent: "main", Role: "user", Snippet: q.Query, Window: []wire.HitItem{}}
	return wire.Found{Items: []wire.Hit{hit}}, f.note("Search %s %v", q.Query, owners.Agents)
}

func (f *fake) IndexState(context.Context) (wire.IndexState, error) {
	return wire.IndexState{Done: 1, Total: 2}, f.note("IndexState")
}

func (f *fake) Reindex(context.Context) (wire.IndexState, error) {
	return wire.IndexState{Building: true}, f.note("Reindex")
}

func (f *fake) CheckIndex(context.Context) (wire.IndexReport, error) {
	return wire.IndexReport{OK: true, Differences: []wire.IndexDifference{}}, f.note("CheckIndex")
}

func (f *fake) Jobs(context.Context) ([]wire.Job, error) {
	return []wire.Job{{ID: "daily", Agent: "main", Key: "agent:main:cron:daily"}, {ID: "hourly", Agent: "work", Key: "agent:work:cron:hourly"}}, f.note("Jobs")
}

func (f *fake) RunJob(_ context.Context, id string) (wire.Routed, error) {
	return wire.Routed{}, f.note("RunJob %s", id)
}

func (f *fake) MaintainNow(_ context.Context, enforce bool) (wire.Maintenance, error) {
	return wire.Maintenance{}, f.note("MaintainNow %v", enforce)
}

func (f *fake) Formats(context.Context) []wire.Format { return []wire.Format{{Name: "native"}} }

func (f *fake) Import(_ context.Context, in wire.Import, body io.Reader) (wire.Imported, error) {
	n, err := io.Copy(io.Discard, body)
	return wire.Imported{Added: n, Fidelity: wire.Fidelity{From: in.From}}, err
}

func (f *fake) Export(_ context.Context, id firn.ID, e wire.Export, w io.Writer) (wire.Fidelity, error) {
	_, err := io.WriteString(w, "{}\n")
	return wire.Fidelity{To: e.Format}, err
}

func (f *fake) Running(context.Context) []wire.Session {
	f.mu.Lock()
	defer f.mu.Unlock()
	return slices.Clone(f.sessions)
}

func (f *fake) UsageReport(_ context.Context, since time.Time) (wire.UsageReport, error) {
	tools := []wire.ToolUse{{Name: "=cmd", Calls: 3, Failures: 1}}
	return wire.UsageReport{Models: []wire.SpendingRow{{Name: "a/b", Counters: wire.Counters{Input: 3, Cost: 0.25, Answers: 1}}}, Tools: tools}, f.note("UsageReport %s", since.Format(time.DateOnly))
}

func (f *fake) Usage(_ context.Context, q view.UsageQuery) (wire.Spending, error) {
	rows := []wire.SpendingRow{{Name: "=1+1", Title: `a "title", with`, Counters: wire.Counters{Input: 3, Cost: 0.25, Answers: 1}}}
	return wire.Spending{By: q.By, And: q.And, Rows: rows}, f.note("Usage %s %s %s", q.By, q.And, q.Since.Format(time.DateOnly))
}

func (f *fake) Status(ctx context.Context) (wire.Status, error) {
	return wire.Status{Home: "/home/of/the/owner", Sessions: len(f.sessions), Agents: f.Agents(ctx), Recent: f.Running(ctx)}, nil
}

func (f *fake) Models(context.Context, bool) []wire.Model {
	return []wire.Model{{ID: "offline/parrot"}}
}

func (f *fake) Agents(context.Context) []wire.Agent { return []wire.Agent{{ID: "main"}, {ID: "work"}} }

// someSessions returns sessions of two agents, with and without keys.
func someSessions() []wire.Session {
	return []wire.Session{
		{ID: "aaaa-1", Agent: "main", Key: "agent:main:main", Title: "a plan", End: 70},
		{ID: "aaaa-2", Agent: "work", Key: "agent:work:telegram:direct:1", End: 20},
		{ID: "bbbb-1", Agent: "main"},
		{ID: "bbbb-2", Agent: "work", Key: "agent:work:telegram2:direct:1"},
		{ID: "cccc-1", Agent: "work"},
	}
}

// fakeServer is a handler with tokens, and helpers to call it.
type fakeServer struct {
	t      *testing.T
	fake   *fake
	tokens *token.Book
	http   *api.HTTP
}

func newFakeServer(t *testing.T, c api.Config) *fakeServer {
	t.Helper()
	s := &fakeServer{t: t, fake: newFake(someSessions()...)}
	if c.Tokens == nil {
		tokens, err := token.Open(context.Background(), token.NewFile(vfs.OS{}, t.TempDir()+"/tokens.json"), nil)
		if err != nil {
			t.Fatal(err)
		}
		c.Tokens = tokens
	}
	s.tokens = c.Tokens
	s.http = api.HandlerOf(s.fake.services(), c)
	return s
}

// services returns the fake as all services of a gateway.
func (f *fake) services() api.Services {
	return api.Services{
		Lookup: f, Sessions: f, Bin: f, Entries: f, Branches: f, Compactions: f, Turns: f, Events: f, Keys: f,
		Status: f, Usage: f, Work: f, Signatures: f, Search: f, Memory: f, Exchange: f, Files: f, Stored: f,
	}
}

// token creates a token and returns its secret.
func (s *fakeServer) token(n wire.NewToken) string {
	s.t.Helper()
	if n.Name == "" {
		n.Name = fmt.Sprintf("t%d", time.Now().UnixNano())
	}
	made, err := s.tokens.Create(context.Background(), n)
	if err != nil {
		s.t.Fatal(err)
	}
	return made.Secret
}

// reply is a received response.
type reply struct {
	status int
	head   http.Header
	body   string
}

// kind returns the kind of the received problem.
func (r reply) kind() wire.Kind {
	var f wire.Failure
	json.Unmarshal([]byte(r.body), &f)
	return f.Error.Kind
}

// change modifies a request before it is sent.
type change func(*http.Request)
