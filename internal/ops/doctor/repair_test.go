package doctor_test

import (
	"bytes"
	"context"
	"fmt"
	"iter"
	"slices"
	"strings"
	"testing"

	"pgregory.net/rapid"

	"firn.dev"
	"firn.dev/internal/disk/journal"
	"firn.dev/internal/disk/vfs/faultfs"
	"firn.dev/internal/formats/dialect"
	"firn.dev/internal/formats/dialect/native"
	"firn.dev/internal/ops/doctor"
	"firn.dev/window"
)

const transcript = "/h/agents/main/sessions/s1.jsonl"

// runRepair runs MakePlan or Repair on the home.
func runRepair(t testing.TB, fs *faultfs.FS, do func(context.Context, doctor.Target, doctor.Options) (*doctor.Plan, error)) *doctor.Plan {
	t.Helper()
	target, err := doctor.OpenHome(fs, "/h")
	if err != nil {
		t.Fatal(err)
	}
	plan, err := do(context.Background(), target, doctor.Options{})
	if err != nil {
		t.Fatal(err)
	}
	if err := plan.Err(); err != nil {
		t.Fatal(err)
	}
	return plan
}

// actions formats the steps of a plan.
func actions(p *doctor.Plan) []string {
	words := []string{}
	for _, s := range p.Steps {
		word := string(s.Action)
		if s.Cut > 0 {
			word += fmt.Sprintf(" %d", s.Cut)
		}
		words = append(words, word)
	}
	return words
}

func read(t testing.TB, fs *faultfs.FS, name string) string {
	t.Helper()
	b, err := fs.Get(name)
	if err != nil {
		t.Fatal(err)
	}
	return string(b)
}

// TestRepair checks that a plan changes nothing and that a second repair has no effect.
func TestRepair(t *testing.T) {
	four := talk(4)
	whole := join(four...)
	cases := map[string]struct {
		parts []string
		steps []string
		left  []string // kinds of remaining faults
		after []string // findings of Verify afterwards
	}{
		"sound":           {parts: []string{whole}},
		"torn":            {parts: []string{whole + `{"type":"mess`}, steps: []string{"save-tail 13"}, after: []string{"info saved-aside repaired"}},
		"no newline":      {parts: []string{whole[:len(whole)-1]}, steps: []string{"add-newline"}},
		"zeros":           {parts: []string{whole + "\x00\x00"}, steps: []string{"save-tail 2"}, after: []string{"info saved-aside repaired"}},
		"entry and zeros": {parts: []string{whole[:len(whole)-1] + "\x00\x00"}, steps: []string{"save-tail 2", "add-newline"}, after: []string{"info saved-aside repaired"}},
		"torn last part":  {parts: []string{join(four[:3]...), join(four[3:]...) + "{"}, steps: []string{"save-tail 1"}, after: []string{"info saved-aside repaired"}},
		"torn first part": {parts: []string{join(four[:3]...) + "{", join(four[3:]...)}, left: []string{"torn"}, after: []string{fmt.Sprintf("fault torn 4:%d", at(whole, 4))}},
		"damage":          {parts: []string{join(header, "x", four[1])}, left: []string{"damaged"}, after: []string{fmt.Sprintf("fault damaged 2:%d", len(ok))}},
		"lost parent": {
			parts: []string{join(header, four[1], four[3], four[4])}, steps: []string{"stand-in", "move-head"},
			after: []string{fmt.Sprintf("info dangling-parent 3:%d a3 repaired", at(whole, 3))},
		},
		"lost root": {
			parts: []string{join(header, four[2], four[3])}, steps: []string{"stand-in", "move-head"},
			after: []string{fmt.Sprintf("info dangling-parent 2:%d a2 repaired", len(ok))},
		},
		"lost parent and torn": {
			parts: []string{join(header, four[1], four[3]) + four[4][:50]}, steps: []string{"save-tail 50", "stand-in", "move-head"},
			after: []string{"info saved-aside repaired", fmt.Sprintf("info dangling-parent 3:%d a3 repaired", at(whole, 3))},
		},
		"lost parent of an entry without newline": {
			parts: []string{strings.TrimSuffix(join(header, four[1], four[3]), "\n") + "\x00"}, steps: []string{"save-tail 1", "add-newline", "stand-in", "move-head"},
			after: []string{"info saved-aside repaired", fmt.Sprintf("info dangling-parent 3:%d a3 repaired", at(whole, 3))},
		},
		"circle": {
			parts: []string{join(header, four[1], messageLine("x", "y", ""), messageLine("y", "x", ""))}, steps: []string{"move-head"},
			after: []string{fmt.Sprintf("warn parent-cycle 3:%d x", at(whole, 3))},
		},
		"only a cycle": {
			parts: []string{join(header, messageLine("x", "x", ""))}, left: []string{"parent-cycle"},
			after: []string{fmt.Sprintf("fault parent-cycle 2:%d x", len(ok))},
		},
		"a missing parent with an invalid ID": {
			parts: []string{join(header, four[1], messageLine("x", "s1", ""))}, left: []string{"dangling-parent"},
			after: []string{fmt.Sprintf("fault dangling-parent 3:%d x", at(whole, 3))},
		},
	}
	for name, c := range cases {
		t.Run(name, func(t *testing.T) {
			fs := home(t, c.parts...)
			plan := runRepair(t, fs, doctor.MakePlan)
			if n := fs.Count(faultfs.Changing); n > 0 {
				t.Fatalf("planning changed something: %v", fs.Log(faultfs.Changing))
			}
			check(t, "the plan has", actions(plan), c.steps)
			check(t, "the plan leaves", kinds(plan.Left), c.left)
			done := runRepair(t, fs, doctor.Repair)
			check(t, "the repair did", actions(done), c.steps)
			check(t, "the repair leaves", kinds(done.Left), c.left)
			check(t, "afterwards there is", short(verify(t, fs).Findings), c.after)
			fs.ClearLog()
			again := runRepair(t, fs, doctor.Repair)
			check(t, "the second repair did", actions(again), nil)
			if n := fs.Count(faultfs.Changing); n > 0 {
				t.Errorf("the second repair changed something: %v", fs.Log(faultfs.Changing))
			}
		})
	}
}

func kinds(findings []doctor.Finding) []string {
	words := []string{}
	for _, f := range findings {
		words = append(words, string(f.Kind))
	}
	return words
}

func check(t *testing.T, what string, got, want []string) {
	t.Helper()
	if !slices.Equal(got, want) && len(got)+len(want) > 0 {
		t.Errorf("%s %q, want %q", what, got, want)
	}
}

// TestPlanMatchesJournal truncates a transcript at every byte, also with a damaged
// end. The planned steps for the tail must match the effect of opening it.
func TestPlanMatchesJournal(t *testing.T) {
	whole := join(talk(2)...)
	step := 1
	if testing.Short() {
		step = 5
	}
	for cut := len(header) + 2; cut <= len(whole); cut += step {
		for _, end := range []string{"", "\x00\x00", "  ", "\r", "{", `{"a":1}`, "x"} {
			fs := home(t, whole[:cut]+end)
			plan := runRepair(t, fs, doctor.MakePlan)
			var did []string
			j, err := journal.Open(fs, transcript, journal.Options{Report: func(r journal.Repair) {
				if r.Cut > 0 {
					did = append(did, fmt.Sprintf("save-tail %d", r.Cut))
				}
				if r.Finished {
					did = append(did, "add-newline")
				}
			}})
			if err != nil {
				t.Fatal(err)
			}
			if err := j.Close(); err != nil {
				t.Fatal(err)
			}
			planned := slices.DeleteFunc(actions(plan), func(a string) bool { return a == "stand-in" || a == "move-head" })
			check(t, fmt.Sprintf("cut at %d, then %q: the plan has", cut, end), planned, did)
		}
	}
}

// TestRepairRandomSessions repairs sessions of every shape. Existing data must not change,
// following parents from the head must lead to a root or at least not into a cycle, and no
// message may leave the window unless the head was in a cycle.
func TestRepairRandomSessions(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		before := drawTranscript(t)
		fs := faultfs.New()
		if err := fs.Put(transcript, []byte(before)); err != nil {
			t.Fatal(err)
		}
		wasBefore := shapeOf(before)
		plan := repairAnything(t, fs)
		b, err := fs.Get(transcript)
		if err != nil {
			t.Fatal(err)
		}
		after := string(b)
		if !strings.HasPrefix(after, before) {
			t.Fatalf("existing data has changed")
		}
		shape := shapeOf(after)
		if shape.circles && len(plan.Left) == 0 {
			t.Errorf("the ancestors of the head still form a cycle")
		}
		if wasBefore.lost && shape.lost && len(plan.Left) == 0 {
			t.Errorf("an ancestor of the head is still missing")
		}
		if !wasBefore.circles && !slices.Equal(windowTexts(t, before), windowTexts(t, after)) {
			t.Errorf("the window had %q, has %q", windowTexts(t, before), windowTexts(t, after))
		}
		if plan := repairAnything(t, fs); len(plan.Steps) > 0 {
			t.Errorf("the second repair did %v", plan.Steps)
		}
	})
}

func repairAnything(t *rapid.T, fs *faultfs.FS) *doctor.Plan {
	target, err := doctor.OpenHome(fs, "/h")
	if err != nil {
		t.Fatal(err)
	}
	plan, err := doctor.Repair(context.Background(), target, doctor.Options{})
	if err != nil || plan.Err() != nil {
		t.Fatal(err, plan.Err())
	}
	return plan
}

// drawTranscript generates a session with arbitrary links.
func drawTranscript(t *rapid.T) string {
	lines := []string{header}
	n := rapid.IntRange(1, 12).Draw(t, "entries")
	wild := rapid.IntRange(0, 3).Draw(t, "wild")
	for i := range n {
		id := fmt.Sprintf("e%d", i)
		parent := fmt.Sprintf("e%d", i-1)
		if rapid.IntRange(0, 9).Draw(t, "odd") < wild {
			parent = rapid.SampledFrom([]string{"null", "lost", "gone", "e0", "e3", "e7", "e11"}).Draw(t, "parent")
		}
		if rapid.IntRange(0, 19).Draw(t, "twice") < wild {
			id = fmt.Sprintf("e%d", rapid.IntRange(0, n).Draw(t, "id"))
		}
		if i == 0 {
			parent = "null"
		}
		lines = append(lines, messageLine(id, parent, fmt.Sprintf("line %d", i)))
	}
	return join(lines...)
}

// shape is the structure seen by a program that follows parents by ID and uses the later of
// two equal IDs, as pi does.
type shape struct{ lost, circles bool }

func shapeOf(text string) shape {
	parents := make(map[firn.EntryID]firn.EntryID)
	var head firn.EntryID
	for line := range strings.Lines(text) {
		entry, err := native.New().Decode([]byte(strings.TrimSuffix(line, "\n")))
		if err != nil || entry.ID == "" {
			continue
		}
		parents[entry.ID] = entry.Parent
		head = entry.ID
	}
	seen := make(map[firn.EntryID]bool)
	for id := head; id != ""; id = parents[id] {
		if seen[id] {
			return shape{circles: true}
		}
		seen[id] = true
		if _, ok := parents[id]; !ok {
			return shape{lost: true}
		}
	}
	return shape{}
}

// windowTexts returns the texts of a transcript that would be sent to a model.
func windowTexts(t *rapid.T, text string) []string {
	path, err := window.Collect(backward(text))
	if err != nil {
		t.Fatal(err)
	}
	var texts []string
	for _, e := range path.Entries {
		if m, ok := e.Body.(*firn.Message); ok {
			texts = append(texts, m.Text())
		}
	}
	return texts
}

// backward yields the records of a text, newest first.
func backward(text string) iter.Seq2[firn.Record, error] {
	return func(yield func(firn.Record, error) bool) {
		lines := bytes.SplitAfter([]byte(text), []byte("\n"))
		end := firn.Pos(len(text))
		for i := len(lines) - 1; i >= 0; i-- {
			at := end - firn.Pos(len(lines[i]))
			r := dialect.Reader{Dialect: native.New()}
			records := r.Records(dialect.Line{At: at, Start: at, Next: end, Data: bytes.TrimSuffix(lines[i], []byte("\n"))})
			for _, rec := range slices.Backward(records) {
				if !yield(rec, nil) {
					return
				}
			}
			end = at
		}
	}
}

func TestRepairReplaysFirst(t *testing.T) {
	fs := home(t, ok)
	if err := fs.Put("/h/commit/0000000000000001.log", []byte("firnlog1")); err != nil {
		t.Fatal(err)
	}
	check(t, "the plan has", actions(runRepair(t, fs, doctor.MakePlan)), []string{"replay-log"})
	check(t, "the repair did", actions(runRepair(t, fs, doctor.Repair)), []string{"replay-log"})
	check(t, "the second repair did", actions(runRepair(t, fs, doctor.Repair)), nil)
}

// TestRepairThatFails fails each operation once. Existing data must remain, and the next
// repair must complete the rest.
func TestRepairThatFails(t *testing.T) {
	four := talk(4)
	damaged := join(header, four[1], four[3]) + four[4][:50]
	for n := 1; ; n++ {
		fs := home(t, damaged)
		fs.FailNth(n, faultfs.Fault{})
		target, err := doctor.OpenHome(fs, "/h")
		if err == nil {
			_, err = doctor.Repair(context.Background(), target, doctor.Options{})
		}
		if fs.Waiting() > 0 {
			break
		}
		_ = err // it may or may not have mattered
		if got := read(t, fs, transcript); !strings.HasPrefix(got, strings.TrimSuffix(damaged, four[4][:50])) {
			t.Fatalf("call %d failed, and existing data has changed", n)
		}
		runRepair(t, fs, doctor.Repair)
		if report := verify(t, fs); !report.OK() {
			t.Errorf("call %d failed, and the next repair left %q", n, short(report.Findings))
		}
	}
}
