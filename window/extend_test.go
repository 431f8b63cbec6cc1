package window_test

import (
	"context"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"
	"pgregory.net/rapid"

	"firn.dev"
	"firn.dev/store"
	"firn.dev/store/memstore"
	"firn.dev/window"
)

// TestExtend checks that extending a path with appended entries equals collecting it again.
func TestExtend(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		st := memstore.New(memstore.Options{})
		defer st.Close()
		const id = firn.ID("s")
		ctx := context.Background()
		var path window.Path
		for range rapid.IntRange(1, 12).Draw(t, "batches") {
			entries := rapid.SliceOfN(rapid.Custom(anyEntry), 1, 4).Draw(t, "entries")
			end, err := st.Append(ctx, id, store.Any, entries...)
			if err != nil {
				t.Fatal(err)
			}
			collected, err := window.Collect(st.ReadBack(ctx, id, store.End))
			if err != nil {
				t.Fatal(err)
			}
			extended, ok := path.Extend(end, entries...)
			path = collected
			if !ok || extended.Header == nil && collected.Header != nil {
				continue // must be collected, or was empty before
			}
			if diff := cmp.Diff(collected, extended, cmpopts.IgnoreUnexported(window.Path{}), cmpopts.EquateEmpty(), cmpopts.IgnoreFields(window.Path{}, "Start")); diff != "" {
				t.Errorf("extending gives a different path:\n%s", diff)
			}
			if diff := cmp.Diff(window.Build(collected, window.Options{}).Tokens, window.Build(extended, window.Options{}).Tokens); diff != "" {
				t.Errorf("extending gives different token counts:\n%s", diff)
			}
		}
	})
}

func anyEntry(t *rapid.T) firn.Entry {
	switch rapid.IntRange(0, 8).Draw(t, "kind") {
	case 0:
		e := firn.NewEntry(firn.AssistantText("yes").Body)
		m := e.Body.(*firn.Message)
		m.Time = e.Time // as the store sets it
		m.Provider, m.Model, m.Usage = "p", rapid.SampledFrom([]string{"a", "b"}).Draw(t, "model"), &firn.Usage{Total: 100}
		return e
	case 1:
		return firn.NewEntry(&firn.Title{Name: "title", Source: firn.SourceAuto})
	case 2:
		return firn.NewEntry(&firn.Custom{Type: "x"})
	case 3:
		return firn.NewEntry(&firn.Custom{Type: firn.VerboseType, Data: []byte(`{"level":"on"}`)})
	case 4:
		return firn.NewEntry(&firn.ModelChange{Provider: "p", Model: "c"})
	case 5:
		return firn.NewEntry(&firn.Compaction{Summary: "all"})
	case 6:
		return firn.NewEntry(&firn.CustomMessage{Type: "x", Parts: []firn.Part{firn.Text{Text: "note"}}})
	}
	return firn.UserText("hello")
}

// TestExtendRefuses lists the entries after which the path must be collected again.
func TestExtendRefuses(t *testing.T) {
	for _, e := range []firn.Entry{
		firn.Hide("x"), firn.NewEntry(&firn.Compaction{}), firn.NewEntry(&firn.Head{}), firn.NewEntry(&firn.ModelChange{Model: "m"}),
		firn.NewEntry(&firn.BranchSummary{}), firn.NewEntry(&firn.Opaque{}), {Body: &firn.Message{}},
	} {
		if _, ok := (window.Path{}).Extend(1, e); ok {
			t.Errorf("%T was accepted", e.Body)
		}
	}
}
