package cli

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"firn.dev"
	"firn.dev/client"
	"firn.dev/internal/render/prose"
	"firn.dev/internal/term/demo"
	"firn.dev/wire"
)

// golden compares a text with a golden file. To update the files, set FIRN_UPDATE=1.
func golden(t *testing.T, name, got string) {
	t.Helper()
	name = filepath.Join("testdata", name+".golden")
	if os.Getenv("FIRN_UPDATE") != "" {
		if err := os.MkdirAll("testdata", 0o755); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(name, []byte(got), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	want, err := os.ReadFile(name)
	if err != nil || got != string(want) {
		t.Errorf("%s is\n%s\nwant\n%s(%v)", name, got, want, err)
	}
}

// fitsWidth checks that each line fits a width.
func fitsWidth(t *testing.T, text string, width int) {
	t.Helper()
	for line := range strings.Lines(text) {
		if n := prose.Width(strings.TrimSuffix(line, "\n")); n > width {
			t.Errorf("a line has %d columns of %d: %s", n, width, line)
		}
	}
}

// TestListFits checks the list of sessions at 40, 80 and 120 columns, and that it is
// complete without a screen.
func TestListFits(t *testing.T) {
	now := time.Date(2026, 3, 4, 12, 0, 0, 0, time.UTC)
	session := func(id, title, agent, key string, unread int) wire.Session {
		return wire.Session{ID: firn.ID(id), Title: title, Agent: agent, Key: key, Bytes: 123_456, Parts: 3, Updated: now.Add(-3 * time.Hour), Unread: unread, State: &wire.State{
			Turns: 1042, Branches: 2, Compactions: 1, Window: wire.Usage{Tokens: 75, Window: 100, Estimated: true}, Counters: wire.Counters{Input: 12_345},
		}}
	}
	page := wire.Page[wire.Session]{Items: []wire.Session{
		session("01ARZ3NDEKTSV4RRFFQ69G5FAV", "The migration of the accounts to the new database", "main", "agent:main:main", 0),
		session("01BX5ZZKBKACTAV9WEVGEMMVRZ", "雪は押されて氷になる雪は押されて氷になる", "a-long-agent-name", "agent:coder:telegram:group:12345678", 2),
	}}
	p := overviewCommands{&program{now: func() time.Time { return now }, env: func(string) string { return "" }}}
	for _, width := range []int{40, 80, 120} {
		text := p.lsText(page, client.Query{}, 100, width)
		fitsWidth(t, text, width)
		golden(t, fmt.Sprintf("ls-%d", width), text)
	}
	if head, _, _ := strings.Cut(p.lsText(page, client.Query{}, 100, 0), "\n"); strings.Join(strings.Fields(head), " ") != "ID TITLE AGENT PLACE TURNS WINDOW TOKENS SIZE UPDATED ⎇" {
		t.Errorf("without a screen the columns are %q", head)
	}
}

// TestDemoFits checks a line of the demo at 40, 80 and 120 columns.
func TestDemoFits(t *testing.T) {
	line := demo.Line{Step: "killed with SIGKILL mid-turn", OK: true, Ms: 1234, Result: "3 entries were acknowledged, all of them are on disk, and the torn line was put aside"}
	var all strings.Builder
	for _, width := range []int{40, 80, 120} {
		text := demoText(line, width)
		fitsWidth(t, text, width)
		fmt.Fprintf(&all, "%d columns:\n%s", width, text)
	}
	golden(t, "demo", all.String())
}
