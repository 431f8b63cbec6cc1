package gateway_test

import (
	"context"
	"encoding/json"
	"strings"
	"testing"

	"firn.dev"
	"firn.dev/store"
	"firn.dev/wire"
)

// TestDraftsOfSilentAnswers follows the drafts of a turn in another process: text that may
// belong to a silent answer is sent when it is known not to.
func TestDraftsOfSilentAnswers(t *testing.T) {
	g, st, id := feedStand(t)
	after := appendText(t, g, id, "before")
	ctx, cancel := context.WithCancel(t.Context())
	defer cancel()
	var sent strings.Builder
	started, ended := make(chan struct{}), make(chan struct{})
	go func() {
		defer close(ended)
		for e, err := range g.Events(ctx, id, 0) {
			switch {
			case err != nil:
				t.Error(err)
				return
			case e.Name == wire.DeltaText:
				d := wire.DataOf[wire.Delta](e)
				sent.WriteString(string(d.Entry) + "=" + d.Text + ";")
			case e.Name == wire.EntryAppended && e.Pos == after:
				close(started)
			case e.Name == wire.EntryAppended && strings.Contains(string(e.Data), "the end"):
				return
			}
		}
	}()
	<-started
	appendText(t, g, id, "go")
	for _, data := range []string{
		`{"answer":"silent","text":"NO_","held":true}`,
		`{"answer":"silent","text":"REPLY, as agreed","held":true}`,
		`{"answer":"shown","text":"NO","held":true}`,
		`{"answer":"shown","text":"TE: it rains"}`,
		`{"answer":"shown","text":" a lot"}`,
	} {
		if _, err := st.Append(t.Context(), id, store.Any, firn.NewEntry(&firn.Custom{Type: firn.DraftType, Data: json.RawMessage(data)})); err != nil {
			t.Fatal(err)
		}
	}
	appendText(t, g, id, "the end")
	<-ended
	if got, want := sent.String(), "shown=NOTE: it rains;shown= a lot;"; got != want {
		t.Errorf("it sent %q, want %q", got, want)
	}
}
