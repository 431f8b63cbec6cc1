package compact

import (
	"bytes"
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"firn.dev"
	"firn.dev/provider/scripted"
	"firn.dev/store/filestore"
	"firn.dev/window"
)

// TestFile checks that compacting a file twenty times preserves its previous content byte
// for byte, and that undoing all of them restores the first window.
func TestFile(t *testing.T) {
	const size = 16_000
	home := t.TempDir()
	st, err := filestore.Open(home, filestore.Options{Sync: filestore.SyncNever})
	if err != nil {
		t.Fatal(err)
	}
	defer st.Close()
	add(t, st, talk(10, 1000)...)
	j := job(st, echo(size), size)
	var windows []window.Window
	for range 20 {
		add(t, st, fresh(talk(10, 1000))...)
		windows = append(windows, window.Build(live(t, st), window.Options{}))
		before := transcript(t, home)
		if _, err := Run(t.Context(), j); err != nil {
			t.Fatal(err)
		}
		if !bytes.HasPrefix(transcript(t, home), before) {
			t.Fatal("bytes that were written have changed")
		}
		usable(t, st, j.Limit(size))
	}
	before := transcript(t, home)
	for n := len(windows) - 1; n >= 0; n-- {
		if _, err := Undo(t.Context(), st, session, ""); err != nil {
			t.Fatal(err)
		}
		got := window.Build(live(t, st), window.Options{})
		got.Items = got.Items[:min(len(got.Items), len(windows[n].Items))] // later messages follow
		want := windows[n]
		want.Tokens, got.Tokens = window.Tokens{}, window.Tokens{}
		sameWindow(t, want, got)
	}
	if !bytes.HasPrefix(transcript(t, home), before) {
		t.Fatal("bytes that were written have changed")
	}
}

// fresh returns the entries without IDs, so that the store assigns them.
func fresh(entries []firn.Entry) []firn.Entry {
	for i := range entries {
		entries[i].ID = ""
	}
	return entries
}

// transcript returns the content of the session's file.
func transcript(t *testing.T, home string) []byte {
	t.Helper()
	var data []byte
	err := filepath.WalkDir(home, func(path string, _ fs.DirEntry, err error) error {
		if err == nil && strings.HasSuffix(path, string(session)+".jsonl") {
			data, err = os.ReadFile(path)
		}
		return err
	})
	if err != nil || len(data) == 0 {
		t.Fatalf("%d bytes of transcript, error %v", len(data), err)
	}
	return data
}

// runes counts one token per character, which is close for Chinese.
type runes struct{}

func (runes) CountText(text string) int64 { return int64(len([]rune(text))) }

func (runes) CountMessage(m *firn.Message) int64 { return runes{}.CountText(allText(m.Parts)) }

// unsure counts more for a message than for its text, so that estimates from the text are
// too low.
type unsure struct{}

func (unsure) CountText(text string) int64 { return window.Chars{}.CountText(text) }

func (unsure) CountMessage(m *firn.Message) int64 { return 3 * window.Chars{}.CountMessage(m) }

// TestCounters checks that compactions fit with every token counter.
func TestCounters(t *testing.T) {
	const size = 16_000
	long := scripted.Reply("## Goal\nsrc/part0.go, src/part1.go\n" + strings.Repeat("- one more fact that has to be kept\n", 300))
	for name, counter := range map[string]window.TokenCounter{"runes": runes{}, "unsure": unsure{}} {
		for _, keep := range []int64{0, 1} {
			st := open(t, talk(30, 1000)...)
			j := job(st, model(size, scripted.Forever(long)), size)
			j.Counter, j.KeepRecent = counter, keep
			result, err := Run(t.Context(), j)
			if err != nil {
				t.Errorf("%s: %v", name, err)
				continue
			}
			w := window.Build(live(t, st), window.Options{Profile: window.Anthropic(), Counter: counter})
			if w.Tokens.Total != result.After || result.After > j.Limit(size) {
				t.Errorf("%s: %d tokens, the result says %d, the limit is %d", name, w.Tokens.Total, result.After, j.Limit(size))
			}
		}
	}
}

// TestKinds summarizes entries of all kinds, and pins them.
func TestKinds(t *testing.T) {
	const size = 16_000
	st := open(t, userEntry("Go."),
		shell("file listing"),
		firn.NewEntry(&firn.CustomMessage{Type: "x", Parts: []firn.Part{firn.Text{Text: "A note from a program."}}}),
		firn.NewEntry(&firn.BranchSummary{From: "x", Summary: "The branch was a dead end."}),
		firn.NewEntry(&firn.Message{Role: firn.RoleAssistant, StopReason: firn.StopAborted, Parts: []firn.Part{firn.Text{Text: "never said"}}}),
	)
	add(t, st, use("c1", "write", `{"path":"src/part8.go"}`, "written")...)
	for _, e := range all(t, st)[2:] {
		add(t, st, label(e.ID, "pin"))
	}
	add(t, st, talk(30, 1000)...)
	m := echo(size)
	if _, err := Run(t.Context(), job(st, m, size)); err != nil {
		t.Fatal(err)
	}
	first := asked(m.Requests()[0])
	for _, want := range []string{"file listing", "A note from a program.", "The branch was a dead end."} {
		if !strings.Contains(first, want) {
			t.Errorf("the summarizer is not shown %q", want)
		}
	}
	if strings.Contains(first, "never said") {
		t.Error("the summarizer receives entries that were never sent")
	}
	text := sent(t, st)
	for _, want := range []string{
		"$ ls\nfile listing", "A note from a program.", "The branch was a dead end.",
		"write {\"path\":\"src/part8.go\"}", "]\nwritten\n", "<modified-files>\nsrc/part8.go\n</modified-files>",
	} {
		if !strings.Contains(text, want) {
			t.Errorf("%q is not in the window", want)
		}
	}
}

// TestFallback checks that less is kept if no summary fits.
func TestFallback(t *testing.T) {
	const size = 16_000
	st := open(t, append(talk(30, 1000), userEntry("The last word."))...)
	r := &run{Job: job(st, nil, size), path: live(t, st)}
	r.prepare()
	c, err := r.choose(t.Context(), 0)
	if err != nil {
		t.Fatal(err)
	}
	c.budget = 0 // no summary is small enough
	less, err := r.fallback(t.Context(), c)
	if err != nil || less.plan.first <= c.plan.first || less.after > less.goal || less.strategy != Extractive {
		t.Errorf("cut at %d instead of %d, %d tokens, error %v", less.plan.first, c.plan.first, less.after, err)
	}
	less.plan.first, less.budget = len(r.path.Entries), 0
	var big *TooBig
	if _, err := r.fallback(t.Context(), less); !errors.As(err, &big) {
		t.Errorf("nothing is left to try: %v", err)
	}
}
