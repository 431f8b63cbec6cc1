package merge

import (
	"context"
	"errors"
	"iter"
	"testing"

	"firn.dev"
	"firn.dev/store"
	"firn.dev/store/memstore"
)

// lines yields lines.
func lines(all ...string) iter.Seq2[[]byte, error] {
	return func(yield func([]byte, error) bool) {
		for _, line := range all {
			if !yield([]byte(line), nil) {
				return
			}
		}
	}
}

const (
	head  = `{"type":"session","version":3,"id":"s1000000","timestamp":"2026-11-15T02:40:15.042Z","cwd":"/w","firn":1,"agent":"main","key":"agent:main:k"}`
	first = `{"type":"message","id":"a1","parentId":null,"timestamp":"2026-11-15T02:40:16.042Z","message":{"role":"user","content":"one","timestamp":1794710416000}}`
	next  = `{"type":"session_info","id":"a2","parentId":"a1","timestamp":"2026-11-15T02:40:17.042Z","name":"a title","source":"user"}`
)

// TestRun merges a new session and then into it: lists show the title, the key points at the
// session, and the head is where the caller wants it.
func TestRun(t *testing.T) {
	ctx := context.Background()
	st := memstore.New(memstore.Options{})
	r, err := Run(ctx, st, "s1000000", store.Start, "a2", lines(head, first, next))
	if err != nil || r.Added != 3 {
		t.Fatalf("merged %+v, %v", r, err)
	}
	for info, err := range st.List(ctx, store.Query{}) {
		if err != nil || info.Title != "a title" || info.Counts.Turns != 1 {
			t.Errorf("the list shows %+v, %v", info, err)
		}
	}
	if id, err := st.Lookup(ctx, "agent:main:k"); err != nil || id != "s1000000" {
		t.Errorf("the key points at %q, %v", id, err)
	}
	var conflict *store.Conflict
	if _, err := Run(ctx, st, "s1000000", 1, "a1", lines()); !errors.As(err, &conflict) {
		t.Errorf("a merge at another end: %v", err)
	}
	if r, err = Run(ctx, st, "s1000000", r.End, "a1", lines()); err != nil {
		t.Fatal(err)
	}
	var tree firn.Tree
	for rec, err := range st.Read(ctx, "s1000000", store.Start) {
		if err != nil {
			t.Fatal(err)
		}
		tree.Add(rec.At, rec.Glance)
	}
	path := tree.Path(tree.Head())
	for _, n := range path {
		if tree.Node(n).ID == "a2" {
			t.Error("the head did not move back to a1")
		}
	}
}

// TestRunRejects rejects lines that cannot be read or refer to unknown entries.
func TestRunRejects(t *testing.T) {
	for name, all := range map[string][]string{
		"not JSON":         {head, "{"},
		"an unknown entry": {head, next},
		"two headers":      {head, head},
	} {
		if _, err := Run(context.Background(), memstore.New(memstore.Options{}), "s1000000", store.Start, "", lines(all...)); err == nil {
			t.Errorf("%s was merged", name)
		}
	}
}
