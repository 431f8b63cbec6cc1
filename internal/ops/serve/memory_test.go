package serve

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"firn.dev"
	"firn.dev/agent"
	"firn.dev/client"
	"firn.dev/internal/base/route"
	"firn.dev/internal/gateway"
	"firn.dev/internal/ops/memory"
	"firn.dev/provider"
	"firn.dev/provider/scripted"
	"firn.dev/store"
	"firn.dev/tool"
	"firn.dev/wire"
)

// aCall represents a tool call and its result.
const aCall = "(a call)"

// begun creates a session with messages of the user and the agent in turn.
func begun(t *testing.T, h *Instance, key, cwd string, texts ...string) firn.ID {
	t.Helper()
	id := firn.NewID()
	entries := []firn.Entry{{Time: time.Now(), Body: &firn.Header{Session: id, Agent: "main", Key: key, CWD: cwd}}}
	for i, text := range texts {
		role := firn.RoleUser
		if i%2 == 1 {
			role = firn.RoleAssistant
		}
		if text == aCall {
			entries = append(entries, firn.NewEntry(&firn.Message{Role: firn.RoleAssistant, Time: time.Now(), Parts: []firn.Part{firn.ToolCall{ID: fmt.Sprint(i), Name: "ls", Arguments: []byte("{}")}}}),
				firn.NewEntry(&firn.Message{Role: firn.RoleToolResult, Time: time.Now(), Parts: []firn.Part{firn.ToolResult{CallID: fmt.Sprint(i), Name: "ls", Content: []firn.Part{firn.Text{Text: "a file"}}}}}))
			continue
		}
		entries = append(entries, firn.NewEntry(&firn.Message{Role: role, Time: time.Now(), Parts: []firn.Part{firn.Text{Text: text}}}))
	}
	if _, err := h.store.Append(t.Context(), id, store.Start, entries...); err != nil {
		t.Fatal(err)
	}
	return id
}

// injections returns the text injected into a turn, by name.
func injections(n *notebook, id firn.ID, message string) map[string]string {
	all := make(map[string]string)
	for _, i := range n.recallFor(context.Background(), agent.Run{Agent: "main", Session: id, Prompt: message, Bounds: route.Everything()}) {
		all[i.Name] = firn.JoinText(i.Parts)
	}
	return all
}

// TestRecallIsInjected checks that notes are sent to the model and not stored in the log.
func TestRecallIsInjected(t *testing.T) {
	h, c := openInstance(t, Options{})
	ctx := t.Context()
	if _, err := c.Memory.Remember(ctx, wire.MemoryPlace{}, wire.NewNote{Text: "The cat of the user is called Tom."}); err != nil {
		t.Fatal(err)
	}
	if _, err := c.Memory.Remember(ctx, wire.MemoryPlace{}, wire.NewNote{Name: "House rules", Text: "Never deploy on Mondays."}); err != nil {
		t.Fatal(err)
	}
	s, err := c.NewSession(ctx, wire.NewSession{})
	if err != nil {
		t.Fatal(err)
	}
	n := notesOf(h, "main")
	got := injections(n, s.ID, "What is my cat called?")
	if !strings.Contains(got["recall"], "[1] note agent/20") || !strings.Contains(got["recall"], "Tom") || !strings.Contains(got["memory"], "memory/house-rules.md") {
		t.Errorf("it receives %v", got)
	}
	if got = injections(n, s.ID, "Write a poem about the sea"); got["recall"] != "" {
		t.Errorf("without a match it receives %v", got)
	}
	answer, err := c.Turn(ctx, s.ID, wire.Turn{Text: "What is my cat called?"})
	if err != nil || !strings.Contains(answer.Text, "Tom") {
		t.Errorf("the answer is %q, %v", answer.Text, err)
	}
	for e, err := range c.Entries(ctx, s.ID, client.EntryQuery{}) {
		if err != nil || strings.Contains(string(e.Line), "<recall>") || strings.Contains(string(e.Line), "<memory>") {
			t.Errorf("the log has %s, %v", e.Line, err)
		}
	}
	n.settings.Index, n.settings.Recall.Count = false, 0
	if got = injections(n, s.ID, "What is my cat called?"); len(got) != 0 {
		t.Errorf("although disabled, it receives %v", got)
	}
}

// TestExtractionAfterTurns checks that facts of a long conversation are stored in the right
// folders, and that the next extraction starts after them.
func TestExtractionAfterTurns(t *testing.T) {
	h, c := openInstance(t, Options{})
	project := t.TempDir()
	texts := []string{"I prefer tabs over spaces in Go code.", "Noted.", "We decided to use Postgres for the shop.", "Fine."}
	for i := range 8 {
		texts = append(texts, fmt.Sprintf("Step %d, please.", i), aCall)
	}
	id := begun(t, h, "agent:main:main", project, texts...)
	model := scripted.New(provider.Info{}, scripted.Reply("MEMORY: preference | 9 | The user prefers tabs over spaces in Go code | 1\nMEMORY: decision | 8 | Postgres is used for the shop | 3"))
	n := notesOf(h, "main")
	n.model = model
	if err := n.learn(t.Context(), agent.Run{Session: id, Bounds: route.Everything()}, agent.Outcome{}); err != nil {
		t.Fatal(err)
	}
	h.notes.work.Wait()
	mine, err := c.Memory.Note(t.Context(), wire.MemoryPlace{Scope: wire.MemoryOfAgent}, "extracted")
	if err != nil || len(mine.Facts) != 1 || mine.Facts[0].Category != "preference" || len(mine.Facts[0].Sources) != 1 || !strings.HasPrefix(mine.Facts[0].Sources[0], string(id)+"/") {
		t.Errorf("the agent has %+v, %v", mine, err)
	}
	of, err := c.Memory.Note(t.Context(), wire.MemoryPlace{Project: project, Scope: wire.MemoryOfProject}, "extracted")
	if err != nil || len(of.Facts) != 1 || of.Facts[0].Category != "decision" {
		t.Errorf("the project has %+v, %v", of, err)
	}
	spent := false
	for rec, err := range h.store.Read(t.Context(), id, store.Start) {
		if err != nil {
			t.Fatal(err)
		}
		e, err := rec.Entry()
		if custom, ok := e.Body.(*firn.Custom); err == nil && ok && strings.Contains(string(custom.Data), `"purpose":"memory"`) {
			spent = true
		}
	}
	if !spent {
		t.Error("the cost is not in the log")
	}
	if err := n.learn(t.Context(), agent.Run{Session: id, Bounds: route.Everything()}, agent.Outcome{}); err != nil {
		t.Fatal(err)
	}
	h.notes.work.Wait()
	if got := len(model.Requests()); got != 1 {
		t.Errorf("the model was called %d times", got)
	}
	n.settings.Extract = false
	short := begun(t, h, "", "", texts...)
	if err := n.learn(t.Context(), agent.Run{Session: short, Bounds: route.Everything()}, agent.Outcome{}); err != nil {
		t.Fatal(err)
	}
	h.notes.work.Wait()
	if got := len(model.Requests()); got != 1 {
		t.Error("it runs although it is disabled")
	}
}

// TestSendersHaveSeparateNotes checks that external senders have separate notes.
func TestSendersHaveSeparateNotes(t *testing.T) {
	h, c := openInstance(t, Options{})
	ctx := t.Context()
	ann, bob := "agent:main:telegram:direct:ann", "agent:main:telegram:direct:bob"
	for key, text := range map[string]string{"": "The tea of the owner is green.", ann: "The tea of Ann is black.", bob: "The tea of Bob is red."} {
		if _, err := c.Memory.Remember(ctx, wire.MemoryPlace{Key: key}, wire.NewNote{Text: text}); err != nil {
			t.Fatal(err)
		}
	}
	n := notesOf(h, "main")
	with := func(key string) string {
		return injections(n, begun(t, h, key, "", "hello", "hi"), "which tea do you know?")["recall"]
	}
	for key, want := range map[string]string{"": "green", "agent:main:main": "green", ann: "black", ann + ":thread:7": "black", bob: "red", "agent:main:telegram:direct:eve": ""} {
		got := with(key)
		for _, color := range []string{"green", "black", "red"} {
			if strings.Contains(got, color) != (color == want) {
				t.Errorf("%q receives %q, want %q", key, got, want)
			}
		}
	}
	n.settings.Shared = true
	if got := with(ann); !strings.Contains(got, "green") || !strings.Contains(got, "black") || strings.Contains(got, "red") {
		t.Errorf("with shared memory Ann receives %q", got)
	}
	notes, err := c.Memory.Notes(ctx, wire.MemoryPlace{Key: ann, Scope: wire.MemoryOfUser})
	if err != nil || len(notes) != 1 || notes[0].Scope != "user" {
		t.Errorf("the notes about Ann are %+v, %v", notes, err)
	}
}

// TestDreamsRunWhenIdle checks that dreams run only while the gateway is idle.
func TestDreamsRunWhenIdle(t *testing.T) {
	h, c := openInstance(t, Options{Settings: load(t, "[memory.dream]\nidle = \"1m\"")})
	for i, text := range []string{"I prefer tabs over spaces in Go code.", "We decided to use Postgres for the shop.", "The release day must be Friday.", "Bye for now.", "Remember that the office is in Oslo."} {
		begun(t, h, fmt.Sprintf("agent:main:s%d", i), "", text, "Fine.")
	}
	n := &dreamScheduler{h: h, last: time.Now()}
	n.dream(t.Context())
	if changes, err := c.Memory.Changes(t.Context(), wire.MemoryPlace{}); err != nil || len(changes) != 0 {
		t.Fatalf("right after a message: %+v, %v", changes, err)
	}
	n.last = time.Now().Add(-time.Hour)
	ctx, awake := n.dreamContext(t.Context(), h.o.Settings.Memory)
	n.noteActivity()
	if ctx.Err() == nil {
		t.Error("a message does not end a consolidation")
	}
	awake()
	n.last = time.Now().Add(-time.Hour)
	n.dream(t.Context())
	changes, err := c.Memory.Changes(t.Context(), wire.MemoryPlace{})
	if err != nil || len(changes) != 1 || changes[0].Kind != "dream" {
		t.Fatalf("the changes are %+v, %v", changes, err)
	}
	note, err := c.Memory.Note(t.Context(), wire.MemoryPlace{}, "extracted")
	if err != nil || len(note.Facts) != 4 {
		t.Errorf("it found %+v, %v", note.Facts, err)
	}
	n.dream(t.Context())
	if changes, err = c.Memory.Changes(t.Context(), wire.MemoryPlace{}); err != nil || len(changes) != 1 {
		t.Errorf("it consolidates again immediately: %+v, %v", changes, err)
	}
}

// TestDreamSchedulerEnds checks that the scheduler ends with the gateway.
func TestDreamSchedulerEnds(t *testing.T) {
	h, _ := openInstance(t, Options{})
	h.startDreaming(t.Context())()
}

// TestNotesSwitchedOff checks that memory can be disabled for all agents or for one.
func TestNotesSwitchedOff(t *testing.T) {
	_, c := openInstance(t, Options{Settings: load(t, "[agents.quiet.memory]\nenabled = false\n[agents.loud]\n")})
	if _, err := c.Memory.Remember(t.Context(), wire.MemoryPlace{Agent: "quiet"}, wire.NewNote{Text: "something to know"}); wire.KindOf(err) != wire.Unsupported {
		t.Errorf("the quiet one notes: %v", err)
	}
	if _, err := c.Memory.Remember(t.Context(), wire.MemoryPlace{Agent: "loud"}, wire.NewNote{Text: "something to know"}); err != nil {
		t.Error(err)
	}
	for _, at := range []wire.MemoryPlace{{Agent: "nobody"}, {Scope: "user"}, {Scope: "project"}, {Scope: "moon"}, {Project: "here"}, {Key: "agent:loud:telegram:direct:1", Agent: "main"}} {
		if _, err := c.Memory.Notes(t.Context(), at); err == nil {
			t.Errorf("%+v is a place", at)
		}
	}
}

func TestScopeOf(t *testing.T) {
	for _, test := range []struct {
		category memory.Category
		at       place
		want     memory.Scope
	}{
		{memory.Preference, place{project: "/w"}, memory.ScopeAgent},
		{memory.Decision, place{project: "/w"}, memory.ScopeProject},
		{memory.Decision, place{}, memory.ScopeAgent},
		{memory.Decision, place{person: "k", project: "/w"}, memory.ScopeUser},
		{"", place{project: "/w"}, memory.ScopeAgent},
	} {
		if got := scopeOf(test.category, test.at); got != test.want {
			t.Errorf("%s at %+v is %s, want %s", test.category, test.at, got, test.want)
		}
	}
	m := &noteStore{home: "/h/.firn", env: func(name string) string { return map[string]string{"HOME": "/h"}[name] }}
	for dir, want := range map[string]string{"": "", "here": "", "/": "", "/h": "", "/h/": "", "/h/.firn": "", "/h/shop/": "/h/shop"} {
		if got := m.project(dir); got != want {
			t.Errorf("%q is the project %q, want %q", dir, got, want)
		}
	}
}

// TestHandwrittenNotes checks that manually written notes are found.
func TestHandwrittenNotes(t *testing.T) {
	h, c := openInstance(t, Options{})
	dir := filepath.Join(h.home(), "agents", "main", "workspace")
	if err := os.MkdirAll(filepath.Join(dir, "memory"), 0o700); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(filepath.Join(dir, "memory", "boats.md"), []byte("# Boats\n\nThe ferry to Moss leaves at nine.\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	hits, err := c.Memory.Recall(t.Context(), wire.MemoryPlace{}, "ferry", 5)
	if err != nil || len(hits) != 1 || hits[0].Ref != "agent/boats" {
		t.Errorf("got %+v, %v", hits, err)
	}
}

// TestRecallWithoutThePast checks that notes are recalled even if sessions cannot be
// searched, with a log entry. Without any notes it is an error.
func TestRecallWithoutThePast(t *testing.T) {
	var logged strings.Builder
	h, c := openInstance(t, Options{Log: slog.New(slog.NewTextHandler(&logged, nil))})
	if _, err := c.Memory.Remember(t.Context(), wire.MemoryPlace{}, wire.NewNote{Text: "The ferry to Moss leaves at nine"}); err != nil {
		t.Fatal(err)
	}
	m := &memories{h}
	m.builder().past = func(place, firn.ID) memory.Search {
		return func(context.Context, string, int) ([]memory.PastMessage, error) {
			return nil, errors.New("the index is broken")
		}
	}
	ctx := gateway.WithAsker(t.Context(), gateway.Asker{Owner: true}, route.Everything())
	hits, err := m.Recall(ctx, wire.MemoryPlace{Agent: "main"}, "ferry", 5)
	if err != nil || len(hits) != 1 || !strings.Contains(hits[0].Text, "ferry") {
		t.Errorf("got %+v, %v", hits, err)
	}
	if !strings.Contains(logged.String(), "the index is broken") {
		t.Errorf("the log is %q", logged.String())
	}
	if _, err := m.Recall(ctx, wire.MemoryPlace{Agent: "main"}, "submarine", 5); err == nil {
		t.Error("nothing was found, and the index is not mentioned")
	}
}

// TestDreamOfOldConversations checks that old conversations imported after the last dream
// are processed.
func TestDreamOfOldConversations(t *testing.T) {
	h, c := openInstance(t, Options{})
	begun(t, h, "agent:main:now", "", "We decided to use Postgres for the shop.", "Fine.")
	dream := func() wire.Dream {
		t.Helper()
		all, err := c.Memory.Dream(t.Context(), wire.MemoryPlace{Scope: wire.MemoryOfAgent}, wire.DreamOrder{})
		if err != nil || len(all) != 1 {
			t.Fatalf("got %+v, %v", all, err)
		}
		return all[0]
	}
	if d := dream(); d.Sessions != 1 {
		t.Fatalf("the first is %+v", d)
	}
	if d := dream(); d.Sessions != 0 {
		t.Errorf("with nothing new it is %+v", d)
	}
	id, long := firn.NewID(), time.Now().AddDate(-1, 0, 0)
	text := firn.NewEntry(&firn.Message{Role: firn.RoleUser, Time: long, Parts: []firn.Part{firn.Text{Text: "I prefer tabs over spaces in Go code."}}})
	text.Time = long
	if _, err := h.store.Append(t.Context(), id, store.Start, firn.Entry{Time: long, Body: &firn.Header{Session: id, Agent: "main", Key: "agent:main:old"}}, text); err != nil {
		t.Fatal(err)
	}
	if d := dream(); d.Sessions != 1 || d.Found != 1 {
		t.Errorf("with an old conversation that is new here it is %+v", d)
	}
}

// TestFaultsAreListed checks that a link out of the folder is reported without its content.
func TestFaultsAreListed(t *testing.T) {
	h, c := openInstance(t, Options{})
	kept, err := c.Memory.Remember(t.Context(), wire.MemoryPlace{}, wire.NewNote{Text: "The ferry to Moss leaves at nine"})
	if err != nil {
		t.Fatal(err)
	}
	secret := filepath.Join(t.TempDir(), "secret")
	err = os.WriteFile(secret, []byte("swordfish\n"), 0o600)
	dir := filepath.Join(h.home(), "agents", "main", "workspace")
	for _, name := range []string{"memory/out.md", "MEMORY.md"} {
		err = errors.Join(err, os.Symlink(secret, filepath.Join(dir, name)))
	}
	if err != nil {
		t.Fatal(err)
	}
	notes, err := c.Memory.Notes(t.Context(), wire.MemoryPlace{})
	if err != nil || len(notes) != 3 || notes[0].Name != kept.Note {
		t.Fatalf("got %+v, %v", notes, err)
	}
	for i, want := range []string{"agent/MEMORY.md", "agent/out"} {
		if n := notes[i+1]; n.Ref != want || n.Type != faultType || !strings.HasPrefix(n.Description, "not read: ") || strings.Contains(n.Description, dir) {
			t.Errorf("it reports %+v, want %s", n, want)
		}
	}
	if _, err := c.Memory.Note(t.Context(), wire.MemoryPlace{}, "out"); wire.KindOf(err) != wire.Unsupported {
		t.Errorf("on request it is %v", err)
	}
}

// TestSecretsAreNotNoted checks that the remember tool leaves out secrets, whichever model
// calls it.
func TestSecretsAreNotNoted(t *testing.T) {
	h, _ := openInstance(t, Options{})
	n, ctx := notesOf(h, "main"), agent.WithBounds(t.Context(), route.Everything())
	text, err := n.remember(ctx, tool.Memo{Text: "The cat is called Tom.\nThe password is hunter2."})
	if err != nil || !strings.Contains(text, "1 fact") || !strings.Contains(text, "left out") {
		t.Errorf("remember returned %q, %v", text, err)
	}
	if text, err := n.remember(ctx, tool.Memo{Text: "The API key is sk-ant-api03-abcdefghij"}); !errors.Is(err, firn.ErrInvalid) {
		t.Errorf("a key was noted: %q, %v", text, err)
	}
	hits, err := n.search(ctx, "password hunter2 key cat", 10)
	for _, hit := range hits {
		if strings.Contains(hit.Text, "hunter2") || strings.Contains(hit.Text, "sk-ant") {
			t.Errorf("the note %q contains a secret", hit.Text)
		}
	}
	if err != nil || len(hits) == 0 {
		t.Errorf("the other fact was not noted: %v, %v", hits, err)
	}
}
