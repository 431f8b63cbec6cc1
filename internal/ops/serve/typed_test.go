package serve

import (
	"fmt"
	"os"
	"slices"
	"strings"
	"sync"
	"testing"

	"firn.dev"
	"firn.dev/client"
	"firn.dev/internal/disk/history"
	"firn.dev/wire"
)

// TestPurgeErasesWhatWasTyped purges over the API and checks that the text is removed from
// the input history too. A plan reports the number of lines and changes nothing.
func TestPurgeErasesWhatWasTyped(t *testing.T) {
	h, c := openInstance(t, Options{})
	ctx, path := t.Context(), history.Path(h.home())
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
		if len(e.Entries) == 0 && !slices.Equal(receipt.Files, planned.Files) {
			t.Errorf("the plan lists the files %v, removed were %v", planned.Files, receipt.Files)
		}
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

// TestPurgeAtOnce purges several sessions concurrently and checks that their input history is
// removed, as stated by the receipts.
func TestPurgeAtOnce(t *testing.T) {
	h, c := openInstance(t, Options{})
	path := history.Path(h.home())
	var ids []firn.ID
	all := `"hello there"` + "\n"
	for i := range 6 {
		text := fmt.Sprintf("Secret number %d.", i)
		all += fmt.Sprintf("%q\n", text)
		ids = append(ids, begun(t, h, fmt.Sprint("agent:main:", i), t.TempDir(), text, "Fine."))
	}
	if err := os.WriteFile(path, []byte(all), 0o600); err != nil {
		t.Fatal(err)
	}
	var wg sync.WaitGroup
	for _, id := range ids {
		wg.Go(func() {
			if r, err := c.Purge(t.Context(), id, wire.Erase{Sure: id}); err != nil || r.Typed != 1 {
				t.Errorf("the receipt is %+v, %v", r, err)
			}
		})
	}
	wg.Wait()
	if data, err := os.ReadFile(path); err != nil || string(data) != `"hello there"`+"\n" {
		t.Errorf("typed: %s, %v", data, err)
	}
}

// TestPlanOfMirrored checks that the plan for purging a mirrored session or entry matches
// the receipt, even if the session was continued before.
func TestPlanOfMirrored(t *testing.T) {
	for _, taken := range []bool{false, true} {
		h, c := openInstance(t, Options{})
		ctx, tool := t.Context(), pi{t, t.TempDir()}
		for _, id := range []string{first, second} {
			tool.writeSession(id, 3)
		}
		tool.adopt(h.home())
		for id, e := range map[firn.ID]wire.Erase{first: {Sure: first}, second: {Sure: second, Entries: []firn.EntryID{"00000002"}}} {
			if taken {
				if _, err := c.Append(ctx, id, client.Any, wire.NewEntries{User: "and I?"}); err != nil {
					t.Fatal(err)
				}
			}
			planned, err := c.Purge(ctx, id, wire.Erase{Entries: e.Entries, Plan: true})
			if err != nil || !slices.ContainsFunc(planned.Files, func(name string) bool { return strings.HasPrefix(name, SourcesDir+"/") }) {
				t.Fatalf("taken over %v: the plan is %+v, %v", taken, planned, err)
			}
			receipt, err := c.Purge(ctx, id, e)
			if err != nil || receipt.Bytes != planned.Bytes || receipt.Bytes == 0 {
				t.Errorf("taken over %v: the plan is %+v, the result %+v, %v", taken, planned, receipt, err)
			}
			for _, name := range planned.Files {
				if !slices.Contains(receipt.Files, name) {
					t.Errorf("taken over %v: the plan lists %s, removed were %v", taken, name, receipt.Files)
				}
			}
			if own := len(receipt.Files) - len(planned.Files); len(e.Entries) == 0 && own != 0 {
				t.Errorf("taken over %v: the plan lists the files %v, removed were %v", taken, planned.Files, receipt.Files)
			}
		}
	}
}
