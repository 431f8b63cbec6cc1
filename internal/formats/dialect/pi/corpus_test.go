package pi_test

import (
	"encoding/json"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"firn.dev"
	"firn.dev/internal/formats/dialect"
	"firn.dev/internal/formats/dialect/dialecttest"
	"firn.dev/internal/formats/dialect/native"
	"firn.dev/window"

	"github.com/google/go-cmp/cmp"
)

var _ dialect.Tool = tool

func TestCorpus(t *testing.T) {
	for _, folder := range []string{"pi", "pi-v1"} {
		dialecttest.RunTool(t, tool, os.DirFS(filepath.Join(corpus, folder)))
	}
	dialecttest.RunTool(t, tool, os.DirFS("testdata"))
}

// TestThirdVersionIsNative checks that version 3 files read the same as line by line, which
// was compared with pi's own contexts (see package window).
func TestThirdVersionIsNative(t *testing.T) {
	for _, name := range files(t) {
		if strings.Contains(name, "pi-v1") {
			continue
		}
		lines := readLines(t, name)
		var want []firn.Entry
		for _, line := range lines {
			if e, err := native.New().Decode(line); err == nil {
				want = append(want, e)
			}
		}
		got := scanned(lines)
		if diff := cmp.Diff(sent(t, want), sent(t, got)); diff != "" {
			t.Errorf("%s: a model is sent something else (-line by line +scanned):\n%s", name, diff)
		}
		if diff := cmp.Diff(ids(pathOf(t, want).Entries), ids(pathOf(t, got).Entries)); diff != "" {
			t.Errorf("%s: the path is another (-line by line +scanned):\n%s", name, diff)
		}
	}
}

// TestMigrations compares with the migration of version 1 files by pi 0.58.3. Texts in them
// were shortened afterwards.
func TestMigrations(t *testing.T) {
	for _, name := range []string{"before-compaction", "large-session"} {
		var want struct {
			Entries, Version, Messages int
			FirstRole, ThinkingLevel   string
			Model                      struct{ Provider, ModelID string }
			Compactions                []struct{ FirstKeptIndex, Index int }
		}
		data, err := os.ReadFile("testdata/v1/" + name + ".migrated.summary.json")
		if err != nil {
			t.Fatal(err)
		}
		if err := json.Unmarshal(data, &want); err != nil {
			t.Fatal(err)
		}
		entries := scanned(readLines(t, "testdata/v1/"+name+".jsonl"))
		h := entries[0].Body.(*firn.Header)
		if len(entries) != want.Entries || h.Version != want.Version {
			t.Errorf("%s: %d entries of version %d, want %d of %d", name, len(entries), h.Version, want.Entries, want.Version)
		}
		var compactions []struct{ FirstKeptIndex, Index int }
		for i, e := range entries {
			if c, ok := e.Body.(*firn.Compaction); ok {
				kept := -1
				for j := range entries {
					if entries[j].ID == c.FirstKept {
						kept = j
					}
				}
				compactions = append(compactions, struct{ FirstKeptIndex, Index int }{kept, i})
			}
		}
		if diff := cmp.Diff(want.Compactions, compactions); len(want.Compactions)+len(compactions) > 0 && diff != "" {
			t.Errorf("%s: other compactions (-pi +firn):\n%s", name, diff)
		}
		path := pathOf(t, entries)
		if n, role := contextOf(path); n != want.Messages || role != want.FirstRole {
			t.Errorf("%s: %d messages in the context, the first a %s, want %d and %s", name, n, role, want.Messages, want.FirstRole)
		}
		if path.State.Provider != want.Model.Provider || path.State.Model != want.Model.ModelID {
			t.Errorf("%s: the model is %s/%s, want %v", name, path.State.Provider, path.State.Model, want.Model)
		}
		if name == "before-compaction" && !strings.HasSuffix(h.ParentSession, ".jsonl") {
			t.Errorf("%s: branched from %q", name, h.ParentSession)
		}
	}
}

// contextOf counts the messages of pi's context before provider-specific filtering.
func contextOf(p window.Path) (n int, first string) {
	for _, e := range p.Entries {
		role := ""
		switch b := e.Body.(type) {
		case *firn.Message:
			role = string(b.Role)
		case *firn.CustomMessage:
			role = "custom"
		case *firn.BranchSummary:
			role = "branchSummary"
		}
		if role != "" {
			n++
		}
		if first == "" {
			first = role
		}
	}
	if p.Compaction != nil {
		return n + 1, "compactionSummary"
	}
	return n, first
}
