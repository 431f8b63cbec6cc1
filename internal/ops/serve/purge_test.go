package serve

import (
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"firn.dev"
	"firn.dev/agent"
	"firn.dev/internal/base/route"
	"firn.dev/provider"
	"firn.dev/provider/scripted"
	"firn.dev/wire"
)

// found returns the words that occur in the name or content of any file of a home.
func found(t *testing.T, home string, words ...string) map[string]string {
	t.Helper()
	at := make(map[string]string)
	err := filepath.WalkDir(home, func(path string, e fs.DirEntry, err error) error {
		if err != nil {
			return err
		}
		data := []byte(nil)
		if !e.IsDir() {
			if data, err = os.ReadFile(path); err != nil {
				return err
			}
		}
		low := strings.ToLower(path + "\n" + string(data))
		for _, word := range words {
			if strings.Contains(low, word) {
				at[word] = path
			}
		}
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
	return at
}

// TestPurgeErasesWhatWasLearned purges a session with extracted facts and notes in all
// scopes. No trace of it may remain in the home, and facts that others stated too are kept.
func TestPurgeErasesWhatWasLearned(t *testing.T) {
	h, c := openInstance(t, Options{})
	ctx := t.Context()
	project := t.TempDir()
	secret := []string{"marzipan", "walrus", "quinoa", "zeppelin"}
	texts := []string{"I prefer marzipan over plain chocolate.", "Fine.", "We decided to use zeppelin for the shop.", "Fine.", "I prefer tabs over spaces in code.", aCall, "Go on.", aCall, "Go on.", aCall}
	for range 7 {
		texts = append(texts, "Go on.", "Done.")
	}
	learn := func(answer string) firn.ID {
		t.Helper()
		id := begun(t, h, "agent:main:main", project, texts...)
		n := notesOf(h, "main")
		n.model = scripted.New(provider.Info{}, scripted.Reply(answer))
		if err := n.learn(ctx, agent.Run{Session: id, Bounds: route.Everything()}, agent.Outcome{}); err != nil {
			t.Fatal(err)
		}
		h.notes.work.Wait()
		return id
	}
	id := learn("MEMORY: preference | 9 | The user prefers marzipan over plain chocolate | 1\nMEMORY: decision | 9 | We use zeppelin for the shop | 3\nMEMORY: preference | 9 | The user prefers tabs over spaces in code | 5")
	texts = append([]string{"Hello.", "Hi.", "Hello.", "Hi."}, texts[4:]...)
	other := learn("MEMORY: preference | 9 | The user prefers tabs over spaces in code | 5")
	for _, n := range []wire.NewNote{{Text: "The walrus is fed at noon"}, {Name: "Quinoa rules", Text: "Eat quinoa."}} {
		n.Sources = []string{string(id) + "/e1"}
		if _, err := c.Memory.Remember(ctx, wire.MemoryPlace{}, n); err != nil {
			t.Fatal(err)
		}
	}
	if _, err := c.Memory.Forget(ctx, wire.MemoryPlace{}, "quinoa-rules"); err != nil { // only an old version remains
		t.Fatal(err)
	}
	if _, err := c.Memory.Dream(ctx, wire.MemoryPlace{Project: project}, wire.DreamOrder{}); err != nil {
		t.Fatal(err)
	}
	if at := found(t, h.home(), secret...); len(at) != len(secret) {
		t.Fatalf("only these were learned: %v", at)
	}
	receipt, err := c.Purge(ctx, id, wire.Erase{Sure: id})
	if err != nil || receipt.Notes < 3 {
		t.Errorf("the receipt is %+v, %v", receipt, err)
	}
	if at := found(t, h.home(), append(secret, string(id)+"/")...); len(at) > 0 {
		t.Errorf("these are left: %v", at)
	}
	hits, err := c.Memory.Recall(ctx, wire.MemoryPlace{Scope: wire.MemoryOfAgent}, "tabs or spaces", 5)
	if err != nil || len(hits) != 1 || len(hits[0].Sources) == 0 || !strings.HasPrefix(hits[0].Sources[0], string(other)) {
		t.Errorf("a fact that another person also stated is %+v, %v", hits, err)
	}
}

// TestPurgeSearchesEveryFolder checks that notes are also erased where memory is disabled
// and for removed agents.
func TestPurgeSearchesEveryFolder(t *testing.T) {
	elsewhere := t.TempDir()
	h, c := openInstance(t, Options{Settings: load(t, "[memory]\nenabled = false\n[agents.apart.memory]\ndir = "+quoted(elsewhere))})
	id := begun(t, h, "", "", "The walrus sings.", "Yes.")
	line := "- The walrus sings <!-- from " + string(id) + "/e1 -->\n"
	for _, dir := range []string{
		filepath.Join(h.home(), "agents", "gone", workspaceDir), filepath.Join(h.home(), "agents", "gone", usersDir, "ann-1"),
		filepath.Join(h.home(), projectsDir, "shop-1"), filepath.Join(elsewhere, "apart", workspaceDir),
	} {
		if err := os.MkdirAll(filepath.Join(dir, "memory"), 0o700); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(filepath.Join(dir, "memory", "2026-08-01.md"), []byte(line), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	receipt, err := c.Purge(t.Context(), id, wire.Erase{Sure: id})
	if err != nil || receipt.Notes != 4 {
		t.Errorf("the receipt is %+v, %v", receipt, err)
	}
	for _, dir := range []string{h.home(), elsewhere} {
		if at := found(t, dir, "walrus"); len(at) > 0 {
			t.Errorf("it is left at %v", at)
		}
	}
}

// TestPurgeErasesNames purges all sessions of a person and of a project. Their names are in
// no file and no folder name then, while notes with other sources keep theirs.
func TestPurgeErasesNames(t *testing.T) {
	h, c := openInstance(t, Options{})
	ctx := t.Context()
	project := filepath.Join(t.TempDir(), "zeppelin")
	number := "agent:main:whatsapp:direct:+4915112345"
	first, thread := begun(t, h, number, "", "I like tea.", "Fine."), begun(t, h, number+":thread:7", "", "And milk.", "Fine.")
	ann := begun(t, h, "agent:main:whatsapp:direct:ann", "", "I like beer.", "Fine.")
	work := begun(t, h, "", project, "We use tabs.", "Fine.")
	for _, n := range []struct {
		at   wire.MemoryPlace
		from string
	}{
		{wire.MemoryPlace{Key: number, Scope: wire.MemoryOfUser}, string(first)},
		{wire.MemoryPlace{Key: "agent:main:whatsapp:direct:ann", Scope: wire.MemoryOfUser}, ""},
		{wire.MemoryPlace{Project: project, Scope: wire.MemoryOfProject}, string(work)},
	} {
		note := wire.NewNote{Text: "They like it"}
		if n.from != "" {
			note.Sources = []string{n.from + "/e1"}
		}
		if _, err := c.Memory.Remember(ctx, n.at, note); err != nil {
			t.Fatal(err)
		}
	}
	purge := func(id firn.ID) {
		t.Helper()
		if _, err := c.Purge(ctx, id, wire.Erase{Sure: id}); err != nil {
			t.Fatal(err)
		}
	}
	purge(first)
	if at := found(t, filepath.Join(h.home(), "agents", "main", usersDir), "4915112345"); len(at) == 0 {
		t.Error("the folder of a person with another session is removed")
	}
	for _, id := range []firn.ID{thread, ann, work} {
		purge(id)
	}
	if at := found(t, h.home(), "4915112345", "zeppelin"); len(at) > 0 {
		t.Errorf("these names are left: %v", at)
	}
	if at := found(t, h.home(), "whatsapp-direct-ann"); len(at) == 0 {
		t.Error("the folder of a note with another source is removed")
	}
}
