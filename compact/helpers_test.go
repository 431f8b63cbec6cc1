package compact

import (
	"context"
	"encoding/json"
	"fmt"
	"iter"
	"regexp"
	"strings"
	"testing"

	"firn.dev"
	"firn.dev/provider"
	"firn.dev/provider/scripted"
	"firn.dev/store"
	"firn.dev/store/memstore"
	"firn.dev/window"
	"firn.dev/window/windowtest"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"
	"pgregory.net/rapid"
)

const session = firn.ID("s1")

// open returns a store with one session that holds the entries.
func open(t testing.TB, entries ...firn.Entry) *memstore.Store {
	t.Helper()
	st := memstore.New(memstore.Options{})
	add(t, st, entries...)
	return st
}

func add(t testing.TB, st store.Store, entries ...firn.Entry) firn.Pos {
	t.Helper()
	end, err := st.Append(t.Context(), session, store.Any, entries...)
	if err != nil {
		t.Fatal(err)
	}
	return end
}

func userEntry(text string) firn.Entry { return firn.NewEntry(firn.UserText(text).Body) }

func reply(text string) firn.Entry { return firn.NewEntry(firn.AssistantText(text).Body) }

// use returns an assistant message that calls a tool, and its result.
func use(id, name, args, result string) []firn.Entry {
	return []firn.Entry{
		firn.NewEntry(&firn.Message{Role: firn.RoleAssistant, StopReason: firn.StopToolUse, Parts: []firn.Part{
			firn.ToolCall{ID: id, Name: name, Arguments: json.RawMessage(args)},
		}}),
		answer(id, name, result),
	}
}

func answer(id, name, result string) firn.Entry {
	return firn.NewEntry(&firn.Message{Role: firn.RoleToolResult, Parts: []firn.Part{
		firn.ToolResult{CallID: id, Name: name, Content: []firn.Part{firn.Text{Text: result}}},
	}})
}

// talk returns a conversation with the given number of turns of about that many tokens
// each: a question, a file read, its result and an answer.
func talk(turns, tokens int) []firn.Entry {
	var entries []firn.Entry
	filler := strings.Repeat("word ", tokens*4/5/2)
	for i := range turns {
		entries = append(entries, userEntry(fmt.Sprintf("Please look at part %d of the parser. %s", i, filler)))
		entries = append(entries, use(fmt.Sprintf("call_%d", i), "read_file", fmt.Sprintf(`{"path":"src/part%d.go"}`, i), "package part\n"+filler)...)
		entries = append(entries, reply(fmt.Sprintf("Part %d is done.", i)))
	}
	return entries
}

func live(t testing.TB, st store.Store) window.Path {
	t.Helper()
	p, err := collect(context.WithoutCancel(t.Context()), st, session)
	if err != nil {
		t.Fatal(err)
	}
	return p
}

func build(t testing.TB, st store.Store) window.Window {
	t.Helper()
	return window.Build(live(t, st), window.Options{Profile: window.Anthropic()})
}

// all returns the entries of the log, in order.
func all(t testing.TB, st store.Store) []firn.Entry {
	t.Helper()
	var entries []firn.Entry
	for rec, err := range st.Read(context.WithoutCancel(t.Context()), session, store.Start) {
		if err != nil {
			t.Fatal(err)
		}
		entry, err := rec.Entry()
		if err != nil {
			t.Fatal(err)
		}
		entries = append(entries, entry)
	}
	return entries
}

// usable checks that every provider would accept the window and that it does not exceed a
// limit.
func usable(t testing.TB, st store.Store, limit int64) {
	t.Helper()
	for _, profile := range window.Profiles() {
		w := window.Build(live(t, st), window.Options{Profile: profile})
		if err := windowtest.Check(profile, w); err != nil {
			t.Error(err)
		}
		if n := w.Tokens.System + w.Tokens.Items; n > limit {
			t.Errorf("%s: the window has %d tokens, want at most %d", profile.Name, n, limit)
		}
	}
}

// sameWindow compares the messages of two windows. The reported usage is ignored, since it
// no longer applies after entries were hidden.
func sameWindow(t rapid.TB, want, got window.Window) {
	t.Helper()
	opts := cmp.Options{
		cmpopts.IgnoreUnexported(window.Item{}), cmpopts.IgnoreFields(window.Window{}, "Tokens", "Out"),
	}
	if diff := cmp.Diff(want, got, opts); diff != "" {
		t.Errorf("the window differs (-want +got):\n%s", diff)
	}
	if want.Tokens.Items != got.Tokens.Items || want.Tokens.System != got.Tokens.System {
		t.Errorf("the window has %+v tokens, want %+v", got.Tokens, want.Tokens)
	}
}

// model returns a scripted model with a window of the given size.
func model(size int64, steps ...scripted.Step) *scripted.Model {
	return scripted.New(info(size), steps...)
}

func info(size int64) provider.Info {
	return provider.Info{Spec: provider.Spec{Window: size, MaxOutput: 8192, Price: provider.Price{Input: 1, Output: 2}}}
}

// echo returns a summarizer with valid answers: the headings, and the first file name in
// its prompt.
func echo(size int64) *scripted.Model {
	var m *scripted.Model
	m = scripted.Func(info(size), func(ctx context.Context, req provider.Request) iter.Seq2[provider.Event, error] {
		return m.Play(ctx, req, scripted.Reply(good(asked(req))))
	})
	return m
}

func good(question string) string {
	return "## Goal\nMake the parser whole.\n\n## Progress\n### Done\n- read " + partName.FindString(question) + "\n"
}

var partName = regexp.MustCompile(`src/part[0-9]+\.go`)

// asked returns the text of a request.
func asked(req provider.Request) string {
	var texts []string
	for i := range req.Window.Items {
		texts = append(texts, req.Window.Items[i].Message.Text())
	}
	return strings.Join(texts, "\n")
}

// job returns a compaction that keeps little of the session.
func job(st store.Store, m provider.Model, size int64) Job {
	return Job{
		Store: st, Session: session, Model: m, Window: size, Reason: Threshold,
		Settings: Settings{Backoff: provider.Backoff{Retries: -1}},
		Build:    window.Options{Profile: window.Anthropic()},
	}
}

func compaction(t testing.TB, e firn.Entry) *firn.Compaction {
	t.Helper()
	c, ok := e.Body.(*firn.Compaction)
	if !ok {
		t.Fatalf("the entry is a %T, want a compaction", e.Body)
	}
	return c
}
