package gateway

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"iter"
	"os"
	"slices"
	"strings"
	"testing"

	"firn.dev"
	"firn.dev/agent"
	"firn.dev/internal/gateway/view"
	"firn.dev/store"
	"firn.dev/wire"
)

func TestRemoveAndRestore(t *testing.T) {
	inRooms(t, func(t *testing.T, r *room) {
		for _, bin := range []bool{false, true} {
			id := r.talk(2)
			got(r.Patch(r.ctx, id, wire.Patch{Title: new("weekly report")}))(t)
			was := lineIDs(t, allEntries(t, r, id, view.EntryQuery{}))
			out := got(r.Remove(r.ctx, id, wire.Remove{Reason: "done", Bin: bin}))(t)
			if out.Title != "weekly report" || out.Bin != bin || out.Parts != 1 || out.BytesRemoved != 0 || r.home != "" && (len(out.Files) != 1 || out.Bytes == 0) {
				t.Errorf("it was removed as %+v", out)
			}
			if page := got(r.Sessions(r.ctx, SessionQuery{}))(t); len(page.Items) != 0 {
				t.Errorf("removed, it is listed: %+v", page.Items)
			}
			_, err := r.Session(r.ctx, string(id))
			if bin {
				isKind(t, "a session in the trash bin", err, wire.NotFound)
			} else if err != nil {
				t.Errorf("a hidden session cannot be read: %v", err)
			}
			if _, err := r.Remove(r.ctx, id, wire.Remove{Bin: bin}); bin {
				isKind(t, "remove it again", err, wire.NotFound)
			} else if err != nil {
				t.Errorf("hiding it again: %v", err)
			}
			s := got(r.Restore(r.ctx, id))(t)
			if s.Hidden || s.Title != "weekly report" {
				t.Errorf("restored it is %+v", s)
			}
			got(r.Restore(r.ctx, id))(t) // not removed
			is := lineIDs(t, allEntries(t, r, id, view.EntryQuery{}))
			if !strings.HasPrefix(is, was) {
				t.Errorf("it was\n%s\nand is\n%s", was, is)
			}
			got(r.Remove(r.ctx, id, wire.Remove{}))(t)
		}
		for _, no := range []firn.ID{"nobody", "../x", ""} {
			for what, err := range map[string]error{"remove": errOf(r.Remove(r.ctx, no, wire.Remove{})), "restore": errOf(r.Restore(r.ctx, no)), "bin": errOf(r.Remove(r.ctx, no, wire.Remove{Bin: true}))} {
				if kind := wire.KindOf(err); kind != wire.NotFound && kind != wire.Invalid {
					t.Errorf("%s session %q: %v", what, no, err)
				}
			}
		}
	})
}

// TestRestoreUndoesBoth restores a session that was hidden and then moved to the trash bin.
func TestRestoreUndoesBoth(t *testing.T) {
	inRooms(t, func(t *testing.T, r *room) {
		id := r.talk(1)
		got(r.Remove(r.ctx, id, wire.Remove{}))(t)
		rest := r.busy(id)
		_, err := r.Remove(r.ctx, id, wire.Remove{Bin: true})
		isKind(t, "the trash bin while a turn is running", err, wire.Busy)
		rest()
		got(r.Remove(r.ctx, id, wire.Remove{Bin: true}))(t)
		if s := got(r.Restore(r.ctx, id))(t); s.Hidden || s.State.Turns != 1 {
			t.Errorf("restored it is %+v", s)
		}
	})
}

func TestPurgeEntries(t *testing.T) {
	inRooms(t, func(t *testing.T, r *room) {
		const secret = "the password is xyzzy"
		draft := func(id, answer, text string) firn.Entry {
			return body(id, &firn.Custom{Type: firn.DraftType, Data: json.RawMessage(fmt.Sprintf(`{"answer":%q,"text":%q}`, answer, text))})
		}
		id := r.start(firn.Header{},
			says("user-1", secret+", and much more is said here"), body("title-1", &firn.Title{Name: secret + ", and…", Source: firn.SourceAuto}),
			draft("draft-1", "answer-1", "so the pass"), draft("draft-2", "answer-1", "word is xyzzy"), answers("answer-1", "so the password is xyzzy"),
			says("user-2", "yes"), draft("draft-3", "answer-2", "good"), answers("answer-2", "good"), body("title-2", &firn.Title{Name: "passwords", Source: firn.SourceAuto}),
		)
		r.View.Resident().Keep(id, got(r.Path(r.ctx, id))(t))
		before := lineIDs(t, allEntries(t, r, id, view.EntryQuery{}))
		receipt := got(r.Purge(r.ctx, id, wire.Erase{Entries: []firn.EntryID{"#1", "answer-1"}, Reason: "private", Sure: id}))(t)
		same(t, "erased", fmt.Sprint(receipt.Entries), "[user-1 title-1 draft-1 draft-2 answer-1 title-2]")
		if receipt.Session != id || receipt.Reason != "private" || receipt.Done.IsZero() || r.home != "" && receipt.Bytes == 0 {
			t.Errorf("the receipt is %+v", receipt)
		}
		entries := allEntries(t, r, id, view.EntryQuery{})
		for _, e := range entries {
			if strings.Contains(string(e.Line), "xyzzy") {
				t.Errorf("it still contains %s", e.Line)
			}
		}
		same(t, "the places", lineIDs(t, entries), before)
		if _, kept := r.View.Resident().Load(id); kept {
			t.Error("the memory still has it")
		}
		if s := got(r.Session(r.ctx, string(id)))(t); strings.Contains(fmt.Sprintf("%+v", s), "xyzzy") {
			t.Errorf("the session is reported as %+v", s)
		}
		same(t, "the branch", strings.Join(strings.Fields(branchOf(t, r, id))[:5], " "), "user-1/erased title-1/erased draft-1/erased draft-2/erased answer-1/erased")
		if r.home == "" {
			return
		}
		for _, file := range got(r.Session(r.ctx, string(id)))(t).Files {
			if text, err := os.ReadFile(file); err != nil || strings.Contains(string(text), "xyzzy") {
				t.Errorf("the file still contains it (%v)", err)
			}
		}
	})
}

// TestPurgeErasesCopies checks that titles, tags, queued messages, results reported to
// another agent and counters are erased with the content they repeat; totals and user
// titles are kept, and summaries are named.
func TestPurgeErasesCopies(t *testing.T) {
	inRooms(t, func(t *testing.T, r *room) {
		custom := func(id, kind, data string) firn.Entry {
			return body(id, &firn.Custom{Type: kind, Data: json.RawMessage(data)})
		}
		merged := says("user-1", "xyzzy and plugh")
		merged.Extra = firn.Fields{{Name: collectedField, Value: json.RawMessage(`["user-1","user-0"]`)}}
		id := r.start(firn.Header{},
			body("title-0", &firn.Title{Name: "Of caves", Source: firn.SourceAuto}),
			custom("queued-0", queuedType, `{"id":"user-0","text":"plugh"}`), custom("queued-1", queuedType, `{"id":"user-1","text":"xyzzy"}`), custom("queued-2", queuedType, `{"id":"user-2","text":"yes"}`),
			merged, answers("answer-1", "fine"), body("title-1", &firn.Title{Name: "About xyzzy", Source: firn.SourceAuto}),
			custom("counts-1", countersType, `{"input":70,"answers":5,"turns":4,"names":{"title":"About xyzzy","titleSource":"auto"}}`),
			custom("tags-1", firn.TagsType, `{"tags":["xyzzy"]}`), says("user-2", "yes"), answers("answer-2", "ask another about plugh"), custom("spawned-1", agent.SpawnedType, `{"session":"x","task":"plugh"}`),
			custom("counts-2", countersType, `{"input":90,"answers":6,"turns":5,"names":{"title":"About xyzzy","titleSource":"auto","tags":["xyzzy"]}}`),
			custom("tags-2", firn.TagsType, `{"tags":["cave"]}`), body("sum-1", &firn.Compaction{Summary: "They spoke of magic words."}),
			custom("counts-3", countersType, `{"input":90,"answers":6,"turns":5,"names":{"title":"","tags":["cave"]}}`),
		)
		receipt := got(r.Purge(r.ctx, id, wire.Erase{Entries: []firn.EntryID{"user-1", "tags-1", "answer-2"}, Sure: id}))(t)
		same(t, "erased", fmt.Sprint(receipt.Entries), "[queued-0 queued-1 user-1 title-1 counts-1 tags-1 answer-2 spawned-1 counts-2]")
		same(t, "summaries", fmt.Sprint(receipt.Summaries), "[sum-1]")
		for _, e := range allEntries(t, r, id, view.EntryQuery{}) {
			if line := string(e.Line); strings.Contains(line, "xyzzy") || strings.Contains(line, "plugh") {
				t.Errorf("it still contains %s", line)
			}
		}
		s := got(r.Session(r.ctx, string(id)))(t)
		if s.Title != "Of caves" || fmt.Sprint(s.Tags) != "[cave]" || s.State.Turns != 5 {
			t.Errorf("the session is now %+v", s)
		}
		if c := got(agent.Count(r.ctx, r.Store, id))(t); c.Input != 90 || c.Answers != 6 {
			t.Errorf("it has used %+v", c)
		}

		named := r.start(firn.Header{}, says("user-1", "xyzzy"), body("title-1", &firn.Title{Name: "Mine", Source: firn.SourceUser}), custom("counts-1", countersType, `{"turns":1,"names":{"title":"Mine","titleSource":"user"}}`))
		got(r.Purge(r.ctx, named, wire.Erase{Entries: []firn.EntryID{"user-1"}, Sure: named}))(t)
		if s := got(r.Session(r.ctx, string(named)))(t); s.Title != "Mine" || s.State.Turns != 1 {
			t.Errorf("one with a name of its own is now %+v", s)
		}
	})
}

func TestPurgeSession(t *testing.T) {
	inRooms(t, func(t *testing.T, r *room) {
		id, other := r.talk(2), r.talk(1)
		fork := got(r.Fork(r.ctx, id, wire.Fork{}))(t)
		for what, e := range map[string]wire.Erase{"not confirmed": {}, "confirmed for another session": {Sure: other}, "confirmed with half of the ID": {Sure: id[:8]}} {
			_, err := r.Purge(r.ctx, id, e)
			isKind(t, what, err, wire.Invalid)
		}
		rest := r.busy(id)
		_, err := r.Purge(r.ctx, id, wire.Erase{Sure: id})
		isKind(t, "while a turn is running", err, wire.Busy)
		rest()
		_, err = r.Purge(r.ctx, id, wire.Erase{Sure: id, Entries: []firn.EntryID{"user-1", "nobody"}})
		isKind(t, "an entry that is not there", err, wire.NotFound)
		if s := got(r.Session(r.ctx, string(id)))(t); s.State.Turns != 2 {
			t.Errorf("a rejected request did something: %+v", s)
		}
		receipt := got(r.Purge(r.ctx, id, wire.Erase{Sure: id, Reason: "asked for"}))(t)
		if receipt.Session != id || !slices.Equal(receipt.Forks, []firn.ID{fork.ID}) {
			t.Errorf("the receipt is %+v", receipt)
		}
		_, err = r.Session(r.ctx, string(id))
		isKind(t, "look at it", err, wire.NotFound)
		_, err = r.Restore(r.ctx, id)
		isKind(t, "restore it", err, wire.NotFound)
		_, err = r.Append(r.ctx, id, store.Any, wire.NewEntries{User: "x"})
		isKind(t, "append to it", err, wire.NotFound)
		got(r.Session(r.ctx, string(fork.ID)))(t)

		binned := r.talk(1)
		got(r.Remove(r.ctx, binned, wire.Remove{Bin: true}))(t)
		got(r.Purge(r.ctx, binned, wire.Erase{Sure: binned}))(t) // also from the trash bin
		_, err = r.Purge(r.ctx, "nobody", wire.Erase{Sure: "nobody"})
		isKind(t, "no session", err, wire.NotFound)
		_, err = r.Purge(r.ctx, "../x", wire.Erase{Sure: "../x"})
		isKind(t, "no id", err, wire.Invalid)
	})
}

// holed is a store whose sessions cannot be read after the first lines.
type holed struct {
	store.Store
	after int // the number of readable lines; zero means all
}

func (h *holed) Unwrap() store.Store { return h.Store }

func (h *holed) Read(ctx context.Context, id firn.ID, after store.Pos) iter.Seq2[store.Record, error] {
	return func(yield func(store.Record, error) bool) {
		n := 0
		for rec, err := range h.Store.Read(ctx, id, after) {
			if n++; h.after > 0 && n > h.after {
				yield(store.Record{}, errBroken)
				return
			}
			if !yield(rec, err) {
				return
			}
		}
	}
}

// TestPurgeErasesInputHistory checks that the input history is erased, including queued
// messages, and before anything else. A partially unreadable session can be erased as a
// whole, which is reported; its entries cannot.
func TestPurgeErasesInputHistory(t *testing.T) {
	st := &holed{Store: memRoomStore()}
	r := newRoom(t, st, "")
	var typed []string
	var failed error
	r.EraseTyped = func(texts []string) (int, error) {
		typed = texts
		return len(texts), failed
	}
	queued := body("queued-1", &firn.Custom{Type: queuedType, Data: json.RawMessage(`{"id":"user-9","text":"plugh"}`)})
	counts := body("counts-1", &firn.Custom{Type: countersType, Data: json.RawMessage(`{"turns":1,"names":{"title":"","tags":["cave"]}}`)})
	tags := body("tags-1", &firn.Custom{Type: firn.TagsType, Data: json.RawMessage(`{"tags":["cave"]}`)})
	start := func() firn.ID { return r.start(firn.Header{}, says("user-1", "xyzzy"), queued, tags, counts) }

	id := start()
	before := lineIDs(t, allEntries(t, r, id, view.EntryQuery{}))
	failed = errors.New("the history is locked away")
	_, err := r.Purge(r.ctx, id, wire.Erase{Sure: id, Entries: []firn.EntryID{"tags-1"}})
	if !errors.Is(err, failed) || !strings.Contains(err.Error(), "nothing was erased yet") {
		t.Errorf("the error is %v", err)
	}
	same(t, "what is left", lineIDs(t, allEntries(t, r, id, view.EntryQuery{})), before)
	failed = nil
	got(r.Purge(r.ctx, id, wire.Erase{Sure: id, Entries: []firn.EntryID{"queued-1"}}))(t)
	same(t, "typed of an entry", fmt.Sprint(typed), "[plugh]")
	id = start()
	if receipt := got(r.Purge(r.ctx, id, wire.Erase{Sure: id}))(t); receipt.Typed != 3 || receipt.Unread != "" {
		t.Errorf("the receipt is %+v", receipt)
	}
	same(t, "typed of a session", fmt.Sprint(typed), "[xyzzy plugh cave]")

	id, st.after = start(), 3 // including the header
	_, err = r.Purge(r.ctx, id, wire.Erase{Sure: id, Entries: []firn.EntryID{"user-1"}})
	if !errors.Is(err, errBroken) {
		t.Errorf("an entry of an unreadable session: %v", err)
	}
	if plan := got(r.Purge(r.ctx, id, wire.Erase{Plan: true}))(t); !strings.Contains(plan.Unread, errBroken.Error()) {
		t.Errorf("the plan is %+v", plan)
	}
	receipt := got(r.Purge(r.ctx, id, wire.Erase{Sure: id}))(t)
	if !strings.Contains(receipt.Unread, errBroken.Error()) || receipt.Done.IsZero() {
		t.Errorf("the receipt is %+v", receipt)
	}
	same(t, "typed of what can be read", fmt.Sprint(typed), "[xyzzy plugh]")
	_, err = r.Session(r.ctx, string(id))
	isKind(t, "look at it", err, wire.NotFound)
	ctx, cancel := context.WithCancel(r.ctx)
	id = start()
	cancel()
	if _, err := r.Purge(ctx, id, wire.Erase{Sure: id}); err == nil {
		t.Error("it was purged for a client that had disconnected")
	}
	got(r.Session(r.ctx, string(id)))(t)
}
