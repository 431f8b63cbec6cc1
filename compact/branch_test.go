package compact

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"testing"

	"firn.dev"
	"firn.dev/provider"
	"firn.dev/provider/scripted"
)

func TestSummarizeBranch(t *testing.T) {
	const size = 16_000
	st := open(t, userEntry("Start."), reply("Yes."))
	target := live(t, st).Head
	add(t, st, talk(6, 200)...)
	add(t, st, use("e", "edit", `{"path":"src/part3.go"}`, strings.Repeat("result ", 500))...)
	hidden := userEntry("a secret")
	add(t, st, hidden)
	add(t, st, firn.Hide(hidden.ID))
	left := live(t, st).Head
	m := echo(size)
	entry, err := SummarizeBranch(t.Context(), BranchJob{Store: st, Session: session, To: target, Model: m, Hint: "be kind"})
	if err != nil {
		t.Fatal(err)
	}
	b := entry.Body.(*firn.BranchSummary)
	d := branchDetails(&entry)
	if entry.Parent != target || b.From != left || d.Strategy != ByModel || len(d.ModifiedFiles) != 1 || len(d.ReadFiles) != 5 {
		t.Errorf("parent %s, from %s, details %+v", entry.Parent, b.From, d)
	}
	if !strings.Contains(b.Summary, "<modified-files>\nsrc/part3.go\n</modified-files>") || !strings.HasPrefix(b.Summary, "## Goal") {
		t.Errorf("the summary is\n%s", b.Summary)
	}
	p := live(t, st)
	if p.Head != entry.ID || len(p.Entries) != 3 {
		t.Errorf("the head is %s, %d entries", p.Head, len(p.Entries))
	}
	reqs := m.Requests()
	if len(reqs) != 1 || reqs[0].MaxTokens != maxBranch {
		t.Fatalf("called %d times, for %d tokens", len(reqs), reqs[0].MaxTokens)
	}
	text := asked(reqs[0])
	for want, there := range map[string]bool{
		"Start.": false, "a secret": false, "Please look at part 0": true, "be kind": true, "characters cut": true, strings.Repeat("result ", 100): false,
	} {
		if strings.Contains(text, want) != there {
			t.Errorf("%q is in the question: %v", want, !there)
		}
	}
	usable(t, st, 1<<40)
}

func TestSummarizeBranchFails(t *testing.T) {
	const size = 16_000
	st := open(t, userEntry("Start."), reply("Yes."))
	target := live(t, st).Head
	for _, to := range []firn.EntryID{target, "nobody"} {
		want := ErrNothing
		if to == "nobody" {
			want = firn.ErrNotFound
		}
		if _, err := SummarizeBranch(t.Context(), BranchJob{Store: st, Session: session, To: to}); !errors.Is(err, want) {
			t.Errorf("to %s: %v, want %v", to, err, want)
		}
	}
	add(t, st, firn.NewEntry(&firn.Title{Name: "x"}))
	if _, err := SummarizeBranch(t.Context(), BranchJob{Store: st, Session: session, To: target}); !errors.Is(err, ErrNothing) {
		t.Errorf("nothing was appended in between: %v", err)
	}
	add(t, st, talk(3, 100)...)
	entries := len(all(t, st))
	m := model(size, scripted.Step{Before: func(context.Context) error { add(t, st, userEntry("Wait.")); return nil }, Parts: scripted.Reply(good("src/part0.go")).Parts})
	if _, err := SummarizeBranch(t.Context(), BranchJob{Store: st, Session: session, To: target, Model: m}); !errors.Is(err, ErrMoved) || len(all(t, st)) != entries+1 {
		t.Errorf("a message was appended: %v", err)
	}
	ctx, cancel := context.WithCancel(t.Context())
	m = model(size, scripted.Step{Before: func(context.Context) error { cancel(); return nil }})
	if _, err := SummarizeBranch(ctx, BranchJob{Store: st, Session: session, To: target, Model: m}); !errors.Is(err, context.Canceled) {
		t.Errorf("canceled: %v", err)
	}
	m = model(size, scripted.Forever(scripted.Fail(&provider.Error{Kind: provider.Auth})))
	entry, err := SummarizeBranch(t.Context(), BranchJob{Store: st, Session: session, To: firn.Root, Model: m})
	if err != nil || entry.Parent != "" || branchDetails(&entry).Strategy != Extractive {
		t.Errorf("to the root with a model that fails: %+v, %v", entry, err)
	}
	if p := live(t, st); len(p.Entries) != 1 || p.Head != entry.ID {
		t.Errorf("%d entries, head %s", len(p.Entries), p.Head)
	}
}

// TestLongBranch checks that the oldest entries of a branch that is too long are left out.
func TestLongBranch(t *testing.T) {
	const size = 16_000
	st := open(t, userEntry("Start."))
	target := live(t, st).Head
	add(t, st, talk(100, 1000)...)
	add(t, st, firn.NewEntry(&firn.Compaction{Summary: "In short: all parts.", FirstKept: live(t, st).Head}))
	for i := range 3 {
		add(t, st, userEntry(fmt.Sprintf("Latest %d", i)))
	}
	m := echo(size)
	if _, err := SummarizeBranch(t.Context(), BranchJob{Store: st, Session: session, To: target, Model: m}); err != nil {
		t.Fatal(err)
	}
	if len(m.Requests()) != 1 {
		t.Fatalf("called %d times", len(m.Requests()))
	}
	checkRequest(t, m.Requests()[0], size)
	text := asked(m.Requests()[0])
	if !strings.Contains(text, "Latest 0") || !strings.Contains(text, "In short: all parts.") || strings.Contains(text, "part 0 of") {
		t.Error("the latest part was not summarized")
	}
	if n := m.Requests()[0].Window.Tokens.Total; n < size/2 {
		t.Errorf("only %d tokens were used", n)
	}
}
