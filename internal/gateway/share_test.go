package gateway

import (
	"strings"
	"testing"

	"firn.dev"
	"firn.dev/wire"
)

// TestSharedPage checks that a page has the branch without hidden entries, or all entries.
func TestSharedPage(t *testing.T) {
	inRooms(t, func(t *testing.T, r *room) {
		id := sampleSession(r)
		var branch, disk strings.Builder
		reported, err := r.Export(r.ctx, id, wire.Export{Format: wire.FormatHTML}, &branch)
		if err != nil || reported.Entries != 13 || reported.To != "html" {
			t.Errorf("%+v %v", reported, err)
		}
		if _, err := r.Export(r.ctx, id, wire.Export{Format: wire.FormatHTML, View: wire.ViewDisk}, &disk); err != nil {
			t.Error(err)
		}
		for text, want := range map[string][2]bool{
			"<p>uno</p>": {true, true}, "<p>dos</p>": {false, true}, "<p>cuatro</p>": {false, true}, "<p>cinco</p>": {true, true}, "they counted to three": {true, true},
			`<span class="label">here</span>`: {true, true}, `<span class="label">hidden</span>`: {false, true}, "all branches": {false, true}, "</html>": {true, true},
		} {
			if got := [2]bool{strings.Contains(branch.String(), text), strings.Contains(disk.String(), text)}; got != want {
				t.Errorf("%s: %v, want %v", text, got, want)
			}
		}
		if strings.Index(branch.String(), "uno") > strings.Index(branch.String(), "cinco") {
			t.Error("the report is not oldest first")
		}
		if _, err := r.Export(r.ctx, id, wire.Export{Format: wire.FormatHTML, View: "window"}, &disk); wire.KindOf(err) != wire.Invalid {
			t.Errorf("a page of the window: %v", err)
		}
		if _, err := r.Export(r.ctx, firn.NewID(), wire.Export{Format: wire.FormatHTML}, &disk); wire.KindOf(err) != wire.NotFound {
			t.Errorf("of nothing: %v", err)
		}
	})
}
