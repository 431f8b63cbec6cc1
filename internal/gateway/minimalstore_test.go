package gateway

import (
	"context"
	"encoding/json"
	"errors"
	"iter"
	"testing"
	"time"

	"firn.dev"
	"firn.dev/internal/gateway/view"
	"firn.dev/store"
	"firn.dev/wire"
)

// bare is a store without optional interfaces.
type bare struct{ store.Store }

func TestMinimalStore(t *testing.T) {
	r := newRoom(t, bare{memRoomStore()}, "")
	id := r.talk(2)
	for what, err := range map[string]error{
		"a key":         errOf(r.NewSession(r.ctx, wire.NewSession{Key: "main"})),
		"by key":        errOf(r.Resolve(r.ctx, "@main")),
		"archive":       errOf(r.Patch(r.ctx, id, wire.Patch{Archived: new(true)})),
		"the trash bin": errOf(r.Remove(r.ctx, id, wire.Remove{Bin: true})),
		"purge":         errOf(r.Purge(r.ctx, id, wire.Erase{Sure: id})),
		"fork to key":   errOf(r.Fork(r.ctx, id, wire.Fork{Key: "x"})),
	} {
		isKind(t, what, err, wire.Unsupported)
	}
	// Everything else works.
	got(r.Remove(r.ctx, id, wire.Remove{}))(t)
	got(r.Restore(r.ctx, id))(t)
	got(r.Fork(r.ctx, id, wire.Fork{}))(t)
	_, err := r.Restore(r.ctx, "nobody")
	isKind(t, "restore an unknown session", err, wire.NotFound)
	// No dialect encodes lines.
	r.Dialect, r.View.Dialect = nil, nil
	page := got(r.Entries(r.ctx, id, view.EntryQuery{}))(t)
	if page.Items[0].Gap == "" || page.Items[0].Line != nil {
		t.Errorf("without lines an entry is %+v", page.Items[0])
	}
	_, err = r.Append(r.ctx, id, store.Any, wire.NewEntries{Entries: []json.RawMessage{json.RawMessage(`{}`)}})
	isKind(t, "append lines", err, wire.Unsupported)
}

// broken is a store whose lists and reads fail.
type broken struct {
	store.Store
	list, read bool
}

var errBroken = errors.New("the disk has a hole")

func (b *broken) List(ctx context.Context, q store.Query) iter.Seq2[store.Info, error] {
	if b.list {
		return func(yield func(store.Info, error) bool) { yield(store.Info{}, errBroken) }
	}
	return b.Store.List(ctx, q)
}

func (b *broken) ReadBack(ctx context.Context, id firn.ID, before store.Pos) iter.Seq2[store.Record, error] {
	if b.read {
		return func(yield func(store.Record, error) bool) { yield(store.Record{}, errBroken) }
	}
	return b.Store.ReadBack(ctx, id, before)
}

// TestFailingStore checks that errors are reported and not treated as missing data.
func TestFailingStore(t *testing.T) {
	st := &broken{Store: memRoomStore()}
	r := newRoom(t, st, "")
	id := r.talk(2)
	st.read = true
	for what, err := range map[string]error{
		"window":  errOf(r.Window(r.ctx, id, "")),
		"branch":  errOf(r.Entries(r.ctx, id, view.EntryQuery{View: wire.ViewBranch})),
		"disk":    errOf(r.Entries(r.ctx, id, view.EntryQuery{Back: true})),
		"head":    errOf(r.FindEntry(r.ctx, id, "HEAD")),
		"name":    errOf(r.FindEntry(r.ctx, id, "answer")),
		"compact": errOf(r.Compact(r.ctx, id, wire.Compact{})),
	} {
		if !errors.Is(err, errBroken) {
			t.Errorf("%s: the error is %v", what, err)
		}
	}
	if s, err := r.Session(r.ctx, string(id)); err != nil || s.Fault == "" || s.State != nil {
		t.Errorf("a session that cannot be read is %+v (%v)", s, err)
	}
	if s := got(r.Usage(r.ctx, view.UsageQuery{By: view.ByDay, Since: time.Time{}}))(t); !s.Partial {
		t.Errorf("the unreadable session is not reported: %+v", s)
	}
	st.list = true
	for what, err := range map[string]error{
		"sessions": errOf(r.Sessions(r.ctx, SessionQuery{})),
		"resolve":  errOf(r.Resolve(r.ctx, "some title")),
		"status":   errOf(r.Status(r.ctx)),
		"usage":    errOf(r.Usage(r.ctx, view.UsageQuery{By: view.ByDay, Since: time.Time{}})),
		"purge":    errOf(r.Purge(r.ctx, id, wire.Erase{Sure: id})),
	} {
		if !errors.Is(err, errBroken) && wire.KindOf(err) != wire.Unsupported {
			t.Errorf("%s: the error is %v", what, err)
		}
	}
	ctx, cancel := context.WithCancel(r.ctx)
	cancel()
	st.list, st.read = false, false
	if _, err := r.Sessions(ctx, SessionQuery{}); !errors.Is(err, context.Canceled) {
		t.Errorf("without a waiting client the error is %v", err)
	}
}
