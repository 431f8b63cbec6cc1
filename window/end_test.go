package window_test

import (
	"errors"
	"testing"

	"firn.dev"
	"firn.dev/store"
	"firn.dev/store/memstore"
	"firn.dev/window"
)

// TestCollectReturnsTheEnd checks that the end of a path is the end of the log, even if little
// of the log is live.
func TestCollectReturnsTheEnd(t *testing.T) {
	for _, tt := range []struct {
		name, log string
		head      firn.EntryID // CollectFrom if not empty
		want      firn.Pos
	}{
		{name: "nothing there"},
		{name: "header only", log: "s header", want: 10},
		{name: "linear", log: "s header\n a\n b < a", want: 30},
		{name: "a gap last", log: "s header\n a\n !", want: 30},
		{name: "an entry without an id last", log: "s header\n a\n y header", want: 30},
		{name: "an older head", log: "s header\n a\n b < a\n c < b", head: "a", want: 40},
		{name: "read twice", log: "s header\n a\n b < zz", want: 30},
	} {
		back := parse(tt.log).back(new(int))
		path, err := window.Collect(back)
		if tt.head != "" {
			path, err = window.CollectFrom(back, tt.head)
		}
		if err != nil {
			t.Fatal(err)
		}
		check(t, tt.name, path.End, tt.want)
	}
}

// TestPathEndIsAStorePosition checks that the end of a collected path can be used as a
// condition for Append and as a position for Follow.
func TestPathEndIsAStorePosition(t *testing.T) {
	ctx, st, id := t.Context(), memstore.New(memstore.Options{}), firn.NewID()
	collect := func() window.Path {
		t.Helper()
		path, err := window.Collect(st.ReadBack(ctx, id, store.End))
		if err != nil {
			t.Fatal(err)
		}
		return path
	}
	if _, err := st.Append(ctx, id, store.Start, firn.UserText("one")); err != nil {
		t.Fatal(err)
	}
	before := collect()
	if _, err := st.Append(ctx, id, before.End, firn.AssistantText("two")); err != nil {
		t.Errorf("append without a concurrent append: %v", err)
	}
	if _, err := st.Append(ctx, id, before.End, firn.AssistantText("three")); !errors.Is(err, firn.ErrConflict) {
		t.Errorf("append after a concurrent append: %v", err)
	}
	for rec, err := range st.Follow(ctx, id, before.End) {
		if err != nil {
			t.Fatal(err)
		}
		check(t, "followed", rec.Glance.ID, collect().Head)
		break
	}
}
