package compact

import (
	"bytes"
	"encoding/json"
	"errors"
	"os"
	"slices"
	"strconv"
	"testing"

	"firn.dev"
	"firn.dev/internal/formats/dialect/native"
	"firn.dev/window"

	"github.com/google/go-cmp/cmp"
)

// TestCutPoints compares plans with those that pi made for the same file.
func TestCutPoints(t *testing.T) {
	var golden map[string]struct {
		FirstKeptEntryIndex, TurnStartIndex int
		IsSplitTurn                         bool
		FirstKeptEntryID                    firn.EntryID
		ToSummarize, TurnPrefix             int
		TokensBefore                        int64
		Estimates                           []int64
	}
	data, err := os.ReadFile("../testdata/golden/pi/compaction_cutpoints.json")
	if err != nil {
		t.Fatal(err)
	}
	if err := json.Unmarshal(data, &golden); err != nil {
		t.Fatal(err)
	}
	p := readPath(t, "../testdata/corpus/pi/golden/compaction_before.jsonl")
	for keep, want := range golden {
		n, err := strconv.ParseInt(keep, 10, 64)
		if err != nil {
			t.Fatal(err)
		}
		plan, err := NewPlan(p, Settings{KeepRecent: n}, PlanOptions{})
		if nothing := want.ToSummarize+want.TurnPrefix == 0; nothing != errors.Is(err, ErrNothing) {
			t.Errorf("keep %s: error %v", keep, err)
		}
		got := want
		got.FirstKeptEntryIndex, got.TurnStartIndex, got.IsSplitTurn = plan.first, plan.turn, plan.Split
		got.FirstKeptEntryID = plan.FirstKept
		got.ToSummarize, got.TurnPrefix = len(plan.Summarize), len(plan.Prefix)
		got.TokensBefore = plan.Before
		got.Estimates = newCutter(p.Entries, window.Chars{}).tokens
		if diff := cmp.Diff(want, got); diff != "" {
			t.Errorf("keep %s (-want +got):\n%s", keep, diff)
		}
	}
}

// readPath reads a file of the native dialect.
func readPath(t *testing.T, name string) window.Path {
	t.Helper()
	data, err := os.ReadFile(name)
	if err != nil {
		t.Fatal(err)
	}
	var records []firn.Record
	for line := range bytes.Lines(data) {
		entry, err := native.New().Decode(bytes.TrimSpace(line))
		if err != nil {
			t.Fatal(err)
		}
		n := firn.Pos(len(records))
		records = append(records, firn.NewRecord(n, n+1, entry))
	}
	p, err := window.Collect(func(yield func(firn.Record, error) bool) {
		for _, rec := range slices.Backward(records) {
			if !yield(rec, nil) {
				return
			}
		}
	})
	if err != nil {
		t.Fatal(err)
	}
	return p
}

// chain returns a path of the entries, with IDs and parents assigned.
func chain(entries ...firn.Entry) window.Path {
	p := window.Path{Entries: entries}
	for i := range entries {
		entries[i].ID = firn.EntryID("e" + strconv.Itoa(i))
		if i > 0 {
			entries[i].Parent = entries[i-1].ID
		}
		p.Head = entries[i].ID
	}
	return p
}

func TestPlan(t *testing.T) {
	big := string(bytes.Repeat([]byte("x"), 4000)) // 1000 tokens
	label := firn.NewEntry(&firn.Label{Target: "e0", Name: "x"})
	custom := firn.NewEntry(&firn.CustomMessage{Type: "note", Parts: []firn.Part{firn.Text{Text: big}}})
	two := firn.NewEntry(&firn.Message{Role: firn.RoleAssistant, StopReason: firn.StopToolUse, Parts: []firn.Part{
		firn.ToolCall{ID: "a", Name: "ls"}, firn.ToolCall{ID: "b", Name: "ls"},
	}})
	aborted := firn.NewEntry(&firn.Message{Role: firn.RoleAssistant, StopReason: firn.StopAborted, Parts: []firn.Part{firn.ToolCall{ID: "a", Name: "ls"}}})
	cases := []struct {
		name    string
		entries []firn.Entry
		keep    int64
		how     Keep
		first   int
		split   bool
		err     error
	}{
		{name: "whole turns", entries: []firn.Entry{userEntry(big), reply(big), userEntry(big), reply(big)}, keep: 2000, first: 2},
		{name: "within a turn", entries: []firn.Entry{userEntry(big), reply(big), userEntry(big), reply(big)}, keep: 1, first: 3, split: true},
		{name: "too small", entries: []firn.Entry{userEntry(big), reply(big)}, keep: 9000, first: 0, err: ErrNothing},
		{name: "nothing said", entries: []firn.Entry{label}, keep: 1, err: ErrNothing},
		{name: "empty", keep: 1, err: ErrNothing},
		{name: "never at a result", entries: append([]firn.Entry{userEntry(big)}, append(use("a", "ls", "{}", big), reply(big))...), keep: 1500, first: 3, split: true},
		{name: "a huge result at the end", entries: append([]firn.Entry{userEntry(big)}, use("a", "ls", "{}", big)...), keep: 10, first: 1, split: true},
		{name: "between parallel results", entries: []firn.Entry{userEntry(big), two, answer("a", "ls", big), custom, answer("b", "ls", big), reply(big)}, keep: 2500, first: 5, split: true},
		{name: "between a call and its late result", entries: []firn.Entry{userEntry(big), two, answer("a", "ls", big), custom, reply(big), answer("b", "ls", big)}, keep: 1500, first: 1, split: true},
		{name: "waiting for a result", entries: []firn.Entry{userEntry(big), two, answer("a", "ls", big), custom}, keep: 10, first: 1, split: true},
		{name: "waiting for a result, nothing to be kept", entries: []firn.Entry{userEntry(big), two, answer("a", "ls", big), custom}, keep: 10, how: KeepNothing, first: 1, split: true},
		{name: "no more waiting", entries: []firn.Entry{userEntry(big), two, answer("a", "ls", big), userEntry(big)}, keep: 10, first: 3},
		{name: "an answer that failed has no calls", entries: []firn.Entry{userEntry(big), aborted, userEntry(big), answer("a", "ls", big)}, keep: 2000, first: 2},
		{name: "labels go with what they precede", entries: []firn.Entry{userEntry(big), reply(big), label, label, userEntry(big)}, keep: 10, first: 2},
		{name: "a command begins a turn", entries: []firn.Entry{userEntry(big), reply(big), shell(big)}, keep: 10, first: 2},
		{name: "the latest turn", entries: []firn.Entry{userEntry(big), reply(big), userEntry(big), reply(big), reply(big)}, keep: 9000, how: KeepTurn, first: 2},
		{name: "the latest message", entries: []firn.Entry{userEntry(big), reply(big), userEntry(big), reply(big), reply(big)}, keep: 9000, how: KeepLast, first: 4, split: true},
		{name: "nothing kept", entries: []firn.Entry{userEntry(big), reply(big), userEntry(big), label}, keep: 9000, how: KeepNothing, first: 4},
	}
	for _, c := range cases {
		t.Run(c.name, func(t *testing.T) {
			plan, err := NewPlan(chain(slices.Clone(c.entries)...), Settings{KeepRecent: c.keep}, PlanOptions{Keep: c.how})
			if !errors.Is(err, c.err) || c.err == nil && err != nil {
				t.Fatalf("error %v, want %v", err, c.err)
			}
			if plan.first != c.first || plan.Split != c.split {
				t.Errorf("cut at %d (split %v), want %d (%v)", plan.first, plan.Split, c.first, c.split)
			}
			if n := len(plan.Summarize) + len(plan.Prefix) + len(plan.Kept); n != len(c.entries) {
				t.Errorf("%d entries in the plan, want %d", n, len(c.entries))
			}
			if splitsPair(append(plan.Summarize[:len(plan.Summarize):len(plan.Summarize)], append(plan.Prefix[:len(plan.Prefix):len(plan.Prefix)], plan.Kept...)...), plan.first) {
				t.Error("a call is separated from its result")
			}
		})
	}
}

func shell(output string) firn.Entry {
	return firn.NewEntry(&firn.Message{Role: firn.RoleShell, Parts: []firn.Part{firn.Shell{Command: "ls", Output: output}}})
}

// TestSecondPlan checks that the second plan begins at the first entry kept by the first
// compaction: every entry is either summarized or kept.
func TestSecondPlan(t *testing.T) {
	big := string(bytes.Repeat([]byte("x"), 4000))
	compacted := firn.NewEntry(&firn.Compaction{Summary: "SUMMARY ONE", FirstKept: "e0"})
	p := chain(userEntry(big), reply(big), compacted, userEntry(big), reply(big))
	p.Compaction = &p.Entries[2]
	plan, err := NewPlan(p, Settings{KeepRecent: 2000}, PlanOptions{})
	if err != nil {
		t.Fatal(err)
	}
	if plan.first != 3 || len(plan.Summarize) != 3 || plan.Previous != p.Compaction {
		t.Errorf("cut at %d, %d to summarize, previous %v", plan.first, len(plan.Summarize), plan.Previous)
	}
	done := chain(userEntry(big), reply(big), compacted, firn.NewEntry(&firn.Label{Target: "e0", Name: "x"}))
	done.Compaction = &done.Entries[2]
	if _, err := NewPlan(done, Settings{KeepRecent: 1}, PlanOptions{}); !errors.Is(err, ErrNothing) {
		t.Errorf("right after a compaction: %v, want ErrNothing", err)
	}
	if _, err := NewPlan(done, Settings{KeepRecent: 1}, PlanOptions{Again: true}); err != nil {
		t.Errorf("right after a compaction, again: %v", err)
	}
}

func TestLimit(t *testing.T) {
	cases := []struct {
		s      Settings
		window int64
		want   int64
	}{
		{Settings{}, 200_000, 180_000},
		{Settings{}, 0, 180_000},
		{Settings{}, 8_000, 6_000},
		{Settings{ReserveFloor: -1}, 200_000, 200_000 - 16_384},
		{Settings{Reserve: 40_000}, 200_000, 160_000},
		{Settings{Reserve: 190_000}, 200_000, 150_000},
		{Settings{Threshold: 100_000}, 200_000, 100_000},
		{Settings{Threshold: 300_000}, 200_000, 180_000},
		{Settings{Fraction: 0.5}, 200_000, 100_000},
		{Settings{Fraction: 0.5, Threshold: 7}, 200_000, 7},
		{Settings{Fraction: 0.000001}, 200, 1},
		{Settings{}, 1, 1},
		{Settings{}, 2, 1},
	}
	for _, c := range cases {
		if got := c.s.Limit(c.window); got != c.want {
			t.Errorf("%+v: limit of %d is %d, want %d", c.s, c.window, got, c.want)
		}
	}
	if !(Settings{}).Due(180_001, 200_000) || (Settings{}).Due(180_000, 200_000) || (Settings{Mode: Off}).Due(1<<40, 10) {
		t.Error("due is not above the limit")
	}
}
