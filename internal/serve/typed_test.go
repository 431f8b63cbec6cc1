package serve

import (
	"os"
	"strings"
	"testing"

	"firn"
	"firn/internal/line"
	"firn/wire"
)

// TestPurgeErasesWhatWasTyped purges as a page or a program does, without the command
// line: what was typed of it goes from the history of the terminal too. A plan tells
// beforehand how much goes, and does nothing.
func TestPurgeErasesWhatWasTyped(t *testing.T) {
	h, c := furnished(t, Options{})
	ctx, path := t.Context(), line.HistoryPath(h.home())
	const all = `"The  walrus sleeps at noon."` + "\n" + `"/title Of marzipan"` + "\n" + `"hello there"` + "\n"
	if err := os.WriteFile(path, []byte(all), 0o600); err != nil {
		t.Fatal(err)
	}
	id := begun(t, h, "agent:main:main", t.TempDir(), "The walrus sleeps at noon.", "Fine.", "And at night?", "It sings.")
	title := "Of marzipan"
	if _, err := c.Patch(ctx, id, wire.Patch{Title: &title}); err != nil {
		t.Fatal(err)
	}
	history := func() string {
		data, err := os.ReadFile(path)
		if err != nil {
			t.Fatal(err)
		}
		return string(data)
	}
	purge := func(e wire.Erase) wire.Receipt {
		t.Helper()
		planned, err := c.Purge(ctx, id, wire.Erase{Entries: e.Entries, Plan: true})
		if before := history(); err != nil || !planned.Done.IsZero() || planned.Typed != 0 || planned.Bytes == 0 {
			t.Fatalf("the plan is %+v, %v; typed is %s", planned, err, before)
		}
		receipt, err := c.Purge(ctx, id, e)
		if err != nil || receipt.Bytes != planned.Bytes || len(receipt.Entries) != len(planned.Entries) {
			t.Errorf("planned was %+v, done %+v, %v", planned, receipt, err)
		}
		return receipt
	}
	if r := purge(wire.Erase{Sure: id, Entries: []firn.EntryID{"#1"}}); r.Typed != 1 || strings.Contains(history(), "walrus") || !strings.Contains(history(), "marzipan") {
		t.Errorf("an entry: %+v, and typed is %s", r, history())
	}
	if r := purge(wire.Erase{Sure: id}); r.Typed != 1 || history() != `"hello there"`+"\n" {
		t.Errorf("a session: %+v, and typed is %s", r, history())
	}
}
