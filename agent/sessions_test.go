package agent_test

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"iter"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"firn.dev"
	"firn.dev/provider"
	"firn.dev/provider/scripted"
	"firn.dev/store"
	"firn.dev/store/filestore"
	"firn.dev/store/memstore"
	"firn.dev/tool"
)

// asked returns a model that answers by the last user message; it answers nothing after a
// tool result.
func asked(answer func(req provider.Request, message string) scripted.Step) *scripted.Model {
	var m *scripted.Model
	m = scripted.Func(scripted.Info(), func(ctx context.Context, req provider.Request) iter.Seq2[provider.Event, error] {
		message := ""
		if last := req.Window.Items[len(req.Window.Items)-1].Message; last.Role == firn.RoleUser {
			message = last.Text()
		}
		return m.Play(ctx, req, answer(req, message))
	})
	return m
}

// send returns a call of sessions_send, identified by its message.
func send(to firn.ID, message string) scripted.Step {
	return scripted.Call(message, "sessions_send", fmt.Sprintf(`{"session":%q,"message":%q}`, to, message))
}

// spawn is a call of sessions_spawn.
func spawn(task, more string) scripted.Step {
	return scripted.Call(task, "sessions_spawn", fmt.Sprintf(`{"task":%q%s}`, task, more))
}

// began creates a session with a message.
func began(t *testing.T, st store.Store, owner string) firn.ID {
	t.Helper()
	id := firn.NewID()
	header := firn.Entry{Body: &firn.Header{Session: id, Agent: owner}}
	if _, err := st.Append(t.Context(), id, store.Start, header, firn.UserText("Hello."), firn.AssistantText("Hello to you.")); err != nil {
		t.Fatal(err)
	}
	return id
}

// at is the same bench at another session.
func (b *workbench) at(id firn.ID) *workbench {
	there := *b
	there.id = id
	return &there
}

// children are the sessions that were spawned.
func (b *workbench) children() (ids []firn.ID) {
	b.t.Helper()
	for info, err := range b.Store.List(b.t.Context(), store.Query{}) {
		if err != nil {
			b.t.Fatal(err)
		}
		if h, ok := b.at(info.ID).entries()[0].Body.(*firn.Header); ok && h.ParentSession != "" {
			ids = append(ids, info.ID)
		}
	}
	return ids
}

// results lists the tool results of a session in order.
func (b *workbench) results() (lines []string) {
	b.t.Helper()
	for _, e := range b.entries() {
		if m, ok := e.Body.(*firn.Message); ok && m.Role == firn.RoleToolResult {
			lines = append(lines, strings.TrimPrefix(brief(m), "toolResult: "))
		}
	}
	return lines
}

// use has a new session of an agent call a session tool and returns the result.
func use(t *testing.T, st store.Store, name, toolName, args string) string {
	t.Helper()
	b := play(t, scripted.Call("1", toolName, args), scripted.Reply("I see."))
	b.Store, b.Name, b.Tools = st, name, b.SessionTools()
	b.runText("go")
	return b.results()[0]
}

// eachStore runs a test on a store in memory and on one in files.
func eachStore(t *testing.T, test func(t *testing.T, st store.Store, home string)) {
	t.Run("memory", func(t *testing.T) { test(t, memstore.New(memstore.Options{}), "") })
	t.Run("files", func(t *testing.T) {
		home := t.TempDir()
		st, err := filestore.Open(home, filestore.Options{Sync: filestore.SyncNever})
		if err != nil {
			t.Fatal(err)
		}
		t.Cleanup(func() {
			if err := st.Close(); err != nil {
				t.Error(err)
			}
		})
		test(t, st, home)
	})
}

// TestSessionTools has an agent list its sessions, message one and spawn one.
func TestSessionTools(t *testing.T) {
	b := play(t, scripted.Reply("I know: it is blue."))
	b.Tools = b.SessionTools()
	other := b.id
	b.runText("What colour is it?")
	b.id = firn.NewID()
	replace := func(s scripted.Step) scripted.Step {
		call := s.Parts[0].(firn.ToolCall)
		call.Arguments = []byte(strings.ReplaceAll(string(call.Arguments), "OTHER", string(other)))
		call.Arguments = []byte(strings.ReplaceAll(string(call.Arguments), "SELF", string(b.id)))
		s.Parts = []firn.Part{call}
		return s
	}
	b.model = scripted.New(scripted.Info(),
		scripted.Call("1", "sessions_list", `{}`),
		replace(scripted.Call("2", "sessions_history", `{"session":"OTHER"}`)),
		replace(scripted.Call("3", "sessions_send", `{"session":"OTHER","message":"Still?"}`)),
		scripted.Reply("Yes, blue."), // in the other session
		replace(scripted.Call("4", "sessions_send", `{"session":"SELF","message":"Me?"}`)),
		scripted.Call("5", "sessions_history", `{"session":"nowhere"}`),
		scripted.Call("6", "sessions_spawn", `{"task":"count to three","label":"counting"}`),
		scripted.Reply("One, two, three."), // in the child
		scripted.Reply("All done."),
	)
	b.Model = b.model
	b.runText("Look around.")
	log := b.log()
	for _, wanted := range []string{
		string(other), "(this conversation)", "assistant] I know: it is blue.", "answered:\nYes, blue.",
		"is waiting for this one", `!find session "nowhere"`, "answered:\nOne, two, three.", "assistant: All done.",
	} {
		if !strings.Contains(log, wanted) {
			t.Errorf("there is no %q in\n%s", wanted, log)
		}
	}
	children := 0
	for info, err := range b.Store.List(t.Context(), store.Query{}) {
		if err != nil {
			t.Fatal(err)
		}
		if info.Title != "counting" {
			continue
		}
		children++
		for rec := range b.Store.Read(t.Context(), info.ID, store.Start) {
			entry, err := rec.Entry()
			if h, ok := entry.Body.(*firn.Header); err != nil || !ok || h.ParentSession != string(b.id) {
				t.Errorf("the child's header is %+v, %v", entry.Body, err)
			}
			break
		}
	}
	if children != 1 {
		t.Errorf("there are %d children", children)
	}
}

// TestSessionsOfAnAgent checks that agents cannot reach each other's sessions.
func TestSessionsOfAnAgent(t *testing.T) {
	eachStore(t, func(t *testing.T, st store.Store, home string) {
		foo := play(t, scripted.Reply("The secret of foo."))
		foo.Store, foo.Name = st, "foo"
		foo.runText("Tell me.")
		ids := []firn.ID{foo.id, began(t, st, "foo")}
		if home != "" {
			ids = append(ids, foreign(t, home, "foo"))
		}
		for _, id := range ids {
			args := fmt.Sprintf(`{"session":%q}`, id)
			if got := use(t, st, "foo", "sessions_list", `{}`); !strings.Contains(got, string(id)) {
				t.Errorf("foo receives %q", got)
			}
			if got := use(t, st, "foo", "sessions_history", args); !strings.Contains(got, " assistant] ") {
				t.Errorf("foo reads %q", got)
			}
			if got := use(t, st, "", "sessions_list", `{}`); strings.Contains(got, string(id)) {
				t.Errorf("main receives %q", got)
			}
			wanted := fmt.Sprintf("!session %s belongs to another agent", id)
			want(t, use(t, st, "", "sessions_history", args), wanted)
			want(t, use(t, st, "", "sessions_send", fmt.Sprintf(`{"session":%q,"message":"Tell me too."}`, id)), wanted)
		}
	})
}

// foreign adds a session without an owner to those of an agent, as another program writes
// them.
func foreign(t *testing.T, home, owner string) firn.ID {
	t.Helper()
	id := firn.NewID()
	path := filepath.Join(home, "agents", owner, "sessions", string(id)+".jsonl")
	lines := fmt.Sprintf(`{"type":"session","version":3,"id":%q,"timestamp":"2026-01-02T03:04:05.000Z","cwd":"/src"}
{"type":"message","id":"a1","parentId":null,"timestamp":"2026-01-02T03:04:06.000Z","message":{"role":"assistant","content":[{"type":"text","text":"From elsewhere."}],"stopReason":"stop"}}
`, id)
	if err := os.WriteFile(path, []byte(lines), 0o600); err != nil {
		t.Fatal(err)
	}
	return id
}

// TestSendsAtOnce sends many messages to one session concurrently: each gets its own
// answer.
func TestSendsAtOnce(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var target firn.ID
		b := playOn(t, asked(func(_ provider.Request, message string) scripted.Step {
			switch {
			case message == "go":
				return scripted.Join(send(target, "q0"), send(target, "q1"), send(target, "q2"), send(target, "q3"))
			case message == "":
				return scripted.Reply("Done.")
			}
			answer := scripted.Reply("About " + message)
			answer.Delay = time.Second // so that they would overlap
			return answer
		}))
		target = began(t, b.Store, "main")
		b.Tools = b.SessionTools()
		b.runText("go")
		for i, line := range b.results() {
			want(t, line, fmt.Sprintf("=session %s answered:", target), fmt.Sprintf("About q%d", i))
		}
		lines := strings.Split(b.at(target).log(), "\n")[2:]
		if len(lines) != 8 {
			t.Fatalf("got %q", lines)
		}
		for pair := range slices.Chunk(lines, 2) {
			want(t, pair[1], strings.Replace(pair[0], "user: ", "assistant: About ", 1))
		}
	})
}

// TestHistory reads the current branch of a session: with compacted messages, without
// hidden ones and other branches.
func TestHistory(t *testing.T) {
	eachStore(t, func(t *testing.T, st store.Store, _ string) {
		id := firn.NewID()
		secret, left := firn.NewEntry(firn.AssistantText("hunter2").Body), firn.NewEntry(firn.AssistantText("wrong answer").Body)
		first := firn.NewEntry(&firn.Compaction{Summary: "Much was said."})
		first.Body.(*firn.Compaction).FirstKept = first.ID
		back := firn.NewEntry(&firn.Head{})
		back.Parent = first.ID
		kept := firn.NewEntry(firn.AssistantText("right answer").Body)
		result := firn.NewEntry(&firn.Message{Role: firn.RoleToolResult, Parts: []firn.Part{
			firn.ToolResult{CallID: "1", Name: "look", Content: []firn.Part{firn.Text{Text: "seen"}}},
		}})
		entries := []firn.Entry{
			firn.UserText("old question"), firn.AssistantText("old answer"), firn.UserText("password?"), secret,
			first, firn.UserText("wrong way"), left, back, firn.UserText("right way"), kept,
			firn.NewEntry(&firn.Compaction{Summary: "More was said.", FirstKept: kept.ID}),
			firn.UserText("last question"), result, firn.AssistantText("last answer"), firn.Hide(secret.ID),
		}
		if _, err := st.Append(t.Context(), id, store.Start, entries...); err != nil {
			t.Fatal(err)
		}
		for more, wanted := range map[string]string{
			``:                                "user] old question|assistant] old answer|user] password?|user] right way|assistant] right answer|user] last question|assistant] last answer",
			`,"limit":4`:                      "user] right way|assistant] right answer|user] last question|assistant] last answer",
			`,"limit":2`:                      "user] last question|assistant] last answer",
			`,"limit":2,"include_tools":true`: "toolResult] look: seen|assistant] last answer",
		} {
			got := use(t, st, "", "sessions_history", fmt.Sprintf(`{"session":%q%s}`, id, more))
			var lines []string
			for line := range strings.Lines(got) {
				_, line, _ = strings.Cut(strings.TrimSpace(line), "Z ")
				lines = append(lines, line)
			}
			want(t, strings.Join(lines, "|"), wanted)
		}
		if _, err := st.Append(t.Context(), id, store.Any, firn.Hide(firn.EntryID(id))); err != nil {
			t.Fatal(err)
		}
		want(t, use(t, st, "", "sessions_history", fmt.Sprintf(`{"session":%q}`, id)), fmt.Sprintf("!session %s was hidden", id))
	})
}

// TestLabel checks that a label stays the name of a spawned session.
func TestLabel(t *testing.T) {
	for more, wanted := range map[string]string{`,"label":"counting\n sheep"`: "counting  sheep", `,"label":" "`: "A good name", ``: "A good name"} {
		b := playOn(t, asked(func(req provider.Request, message string) scripted.Step {
			switch {
			case req.Purpose == provider.ForTitle:
				return scripted.Reply("A good name")
			case message == "go":
				return spawn("count", more)
			}
			return scripted.Reply("Fine.")
		}))
		b.NoTitles, b.Tools = false, b.SessionTools()
		b.runText("go")
		b.Wait()
		child := b.children()[0]
		for info, err := range b.Store.List(t.Context(), store.Query{}) {
			if info.ID == child && info.Title != wanted || err != nil {
				t.Errorf("with %s it is called %q, %v", more, info.Title, err)
			}
		}
	}
}

// failingRecorder is a tool that remembers how it failed.
type failingRecorder struct {
	tool.Tool
	failure *error
}

func (h failingRecorder) Run(ctx context.Context, args json.RawMessage) (tool.Result, error) {
	r, err := h.Tool.Run(ctx, args)
	*h.failure = err
	return r, err
}

// TestRefusedRequests checks the errors of invalid requests, and that no session is
// created.
func TestRefusedRequests(t *testing.T) {
	invalid, gone := firn.ErrInvalid, firn.ErrNotFound
	for name, c := range map[string]struct {
		tool, args string
		kind       error // nil means any
		words      string
	}{
		"no task":          {"sessions_spawn", `{"task":" "}`, nil, "the task is missing"},
		"no message":       {"sessions_send", `{"session":"OTHER","message":"\n"}`, nil, "the message is missing"},
		"half a model":     {"sessions_spawn", `{"task":"x","model":"gpt"}`, invalid, "provider/model"},
		"no model":         {"sessions_spawn", `{"task":"x","model":"/"}`, invalid, "provider/model"},
		"unknown model":    {"sessions_spawn", `{"task":"x","model":"a/b/c"}`, gone, "no model a b/c"},
		"unknown session":  {"sessions_send", `{"session":"nowhere","message":"x"}`, gone, `find session "nowhere"`},
		"nothing to read":  {"sessions_history", `{"session":"nowhere"}`, gone, "sessions_list lists"},
		"unknown key":      {"sessions_history", `{"session":"agent:main:x"}`, gone, `find session "agent:main:x"`},
		"itself":           {"sessions_send", `{"session":"SELF","message":"x"}`, firn.ErrLocked, "is waiting for this one"},
		"itself, later":    {"sessions_send", `{"session":"SELF","message":"x","timeout_seconds":0}`, firn.ErrLocked, "is waiting for this one"},
		"a closed agent":   {"sessions_send", `{"session":"OTHER","message":"x"}`, firn.ErrClosed, "run a turn of session"},
		"none, and closed": {"sessions_send", `{"session":"OTHER","message":"x","timeout_seconds":0}`, firn.ErrClosed, "run a turn of session"},
	} {
		t.Run(name, func(t *testing.T) {
			b := play(t)
			other := began(t, b.Store, "main")
			args := strings.NewReplacer("OTHER", string(other), "SELF", string(b.id)).Replace(c.args)
			b.Model = scripted.New(scripted.Info(), scripted.Call("1", c.tool, args), scripted.Reply("I see."))
			b.Models = func(p, m string) (provider.Model, error) {
				return nil, fmt.Errorf("no model %s %s: %w", p, m, firn.ErrNotFound)
			}
			var failure error
			for _, x := range b.SessionTools() {
				b.Tools = append(b.Tools, failingRecorder{x, &failure})
			}
			if strings.HasSuffix(name, "closed") || strings.HasPrefix(name, "a closed") {
				if err := b.Close(); err != nil {
					t.Fatal(err)
				}
			}
			b.runText("go")
			if failure == nil || c.kind != nil && !errors.Is(failure, c.kind) || !strings.Contains(failure.Error(), c.words) {
				t.Errorf("the error is %v", failure)
			}
			if children := b.children(); len(children) > 0 {
				t.Errorf("a session was started: %v", children)
			}
			want(t, b.at(other).log(), "user: Hello.", "assistant: Hello to you.")
		})
	}
}

// TestOutsideATurn uses the tools without a calling session: nothing is visible.
func TestOutsideATurn(t *testing.T) {
	b := play(t)
	other := began(t, b.Store, "main")
	tools := b.SessionTools()
	for i, args := range []string{`{}`, `{"session":"OTHER"}`, `{"session":"OTHER","message":"x"}`, `{"task":"x"}`} {
		got, err := tools[i].Run(t.Context(), []byte(strings.ReplaceAll(args, "OTHER", string(other))))
		want := []string{"There are no sessions.", "find session", "only a turn of a session", "only a turn of a session"}[i]
		if err != nil {
			got = tool.TextResult(err.Error())
		}
		if text := firn.JoinText(got.Parts); !strings.HasPrefix(text, want) || (err == nil) != (i == 0) {
			t.Errorf("%s gives %q", tools[i].Spec().Name, text)
		}
	}
}

// TestInvalidSessionNames checks that invalid session names give a short error and have no
// effect.
func TestInvalidSessionNames(t *testing.T) {
	eachStore(t, func(t *testing.T, st store.Store, home string) {
		caller := use(t, st, "", "sessions_list", `{}`) // creates the agent's directory
		if !strings.HasPrefix(caller, "=") {
			t.Fatal(caller)
		}
		for _, name := range []string{
			"", " ", ".", "..", "../x", "/etc/passwd", `..\x`, "a/b", "x\x00", "con", "x_part2", "-",
			"agent:../x:y", "agent:nobody:main", ":", "a:b\n", strings.Repeat("x", 5000), strings.Repeat("x:", 5000), "\xff",
		} {
			before := files(t, home)
			for call, more := range map[string]string{"sessions_history": ``, "sessions_send": `,"message":"x"`} {
				got := use(t, st, "", call, fmt.Sprintf(`{"session":%s%s}`, quoted(name), more))
				if !strings.HasPrefix(got, "!find session ") || len(got) > 400 {
					t.Errorf("%s of %.20q receives %.400q", call, name, got)
				}
			}
			if after := files(t, home); home != "" && after != before+2 { // the two calling sessions
				t.Errorf("%.20q leaves %d files more", name, after-before-2)
			}
		}
	})
}

// quoted spells a text as JSON does.
func quoted(s string) string {
	data, err := json.Marshal(s)
	if err != nil {
		return `""`
	}
	return string(data)
}

// files counts the files below a directory.
func files(t *testing.T, dir string) (n int) {
	t.Helper()
	if dir == "" {
		return 0
	}
	if err := filepath.WalkDir(dir, func(_ string, d fs.DirEntry, err error) error {
		if err == nil {
			n++
		}
		return err
	}); err != nil {
		t.Fatal(err)
	}
	return n
}
