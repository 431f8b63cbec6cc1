package offline

import (
	"context"
	"encoding/json"
	"errors"
	"flag"
	"fmt"
	"os"
	"path/filepath"
	"reflect"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/rogpeppe/go-internal/txtar"

	"firn.dev"
	"firn.dev/internal/find/digest"
	"firn.dev/provider"
	"firn.dev/provider/providertest"
	"firn.dev/window"
)

func TestContract(t *testing.T) {
	providertest.Run(t, func(*testing.T, *providertest.Play) provider.Model {
		return New(Options{})
	}, providertest.NoScript, providertest.NoPrice, providertest.NoHTTP)
}

var update = flag.Bool("update", false, "write the answers that come out")

// Each file is a set of cases: a conversation in the format of package digest, an arrow,
// and the streamed answer. The comment describes the purpose and the available tools.
func TestGolden(t *testing.T) {
	files, err := filepath.Glob("testdata/*.txtar")
	if err != nil || len(files) == 0 {
		t.Fatalf("no cases: %v", err)
	}
	for _, file := range files {
		a, err := txtar.ParseFile(file)
		if err != nil {
			t.Fatal(err)
		}
		setting := settingOf(string(a.Comment))
		for i, f := range a.Files {
			t.Run(strings.TrimSuffix(filepath.Base(file), ".txtar")+"/"+f.Name, func(t *testing.T) {
				conversation, want, ok := strings.Cut(string(f.Data), "\n=>\n")
				if !ok {
					t.Fatal("no arrow")
				}
				got := play(t, New(Options{}), setting.request(conversation))
				if *update {
					a.Files[i].Data = []byte(conversation + "\n=>\n" + got)
				} else if got != want {
					t.Errorf("got\n%s\nwant\n%s", got, want)
				}
			})
		}
		if *update {
			if err := os.WriteFile(file, txtar.Format(a), 0o644); err != nil {
				t.Fatal(err)
			}
		}
	}
}

// setting holds the common parameters of the cases of a file.
type setting struct {
	tools     []provider.Tool
	purpose   provider.Purpose
	thinking  provider.Thinking
	maxTokens int64
}

func settingOf(comment string) (s setting) {
	for line := range strings.Lines(comment) {
		key, value, _ := strings.Cut(strings.TrimSpace(line), ": ")
		switch key {
		case "tools":
			s.tools = offer(strings.Fields(value)...)
		case "purpose":
			s.purpose = provider.Purpose(value)
		case "thinking":
			s.thinking = provider.Thinking(value)
		case "max tokens":
			fmt.Sscan(value, &s.maxTokens)
		}
	}
	return s
}

func offer(names ...string) (tools []provider.Tool) {
	for _, name := range names {
		tools = append(tools, provider.Tool{Name: name, Schema: json.RawMessage(`{"type":"object"}`)})
	}
	return tools
}

func (s setting) request(conversation string) provider.Request {
	var entries []firn.Entry
	var injected []window.Injection
	for _, m := range messages(digest.Parse(conversation)) {
		if note, ok := strings.CutPrefix(m.Text(), "<recall>"); ok && m.Role == firn.RoleUser && strings.HasSuffix(note, "</recall>") {
			injected = append(injected, window.Injection{Name: "recall", Parts: m.Parts})
			continue
		}
		if m.Role == firn.RoleSystem {
			summary := firn.NewEntry(&firn.Compaction{Summary: m.Text()})
			entries = append(entries, summary)
			continue
		}
		entries = append(entries, firn.NewEntry(&m))
	}
	path := window.Path{Entries: entries}
	if len(entries) > 0 {
		if _, ok := entries[0].Body.(*firn.Compaction); ok {
			path.Compaction = &entries[0]
		}
	}
	info := New(Options{}).Info()
	return provider.Request{
		Window: window.Build(path, window.Options{Profile: info.Profile, Ask: info.Ask(), Injected: injected}),
		Tools:  s.tools, Purpose: s.purpose, Thinking: s.thinking, MaxTokens: s.maxTokens,
	}
}

// messages builds messages from lines. Calls get IDs in order, and results refer to them in
// order.
func messages(lines []digest.Line) []firn.Message {
	var all []firn.Message
	calls, results := 0, 0
	for i, l := range lines {
		var part firn.Part
		switch l.Kind {
		case digest.Speech:
			part = firn.Text{Text: l.Text}
		case digest.Thought:
			part = firn.Thinking{Text: l.Text}
		case digest.Call:
			calls++
			part = firn.ToolCall{ID: fmt.Sprintf("call_%d", calls), Name: l.Name, Arguments: json.RawMessage(l.Text)}
		case digest.Result:
			results++
			part = firn.ToolResult{CallID: fmt.Sprintf("call_%d", results), Name: l.Name, IsError: l.IsError, Content: []firn.Part{firn.Text{Text: l.Text}}}
		}
		if l.Kind == digest.Call && i > 0 && lines[i-1].Role == firn.RoleAssistant {
			all[len(all)-1].Parts = append(all[len(all)-1].Parts, part)
			continue
		}
		all = append(all, firn.Message{Role: l.Role, Parts: []firn.Part{part}})
	}
	return all
}

// play sends a request and returns the answer as text.
func play(t testing.TB, m *Model, req provider.Request) string {
	t.Helper()
	message, err := ask(t, m, req)
	if err != nil {
		return "error: " + err.Error() + "\n"
	}
	var b strings.Builder
	for _, part := range message.Parts {
		switch p := part.(type) {
		case firn.Thinking:
			fmt.Fprintf(&b, "(%s)\n", p.Text)
		case firn.Text:
			fmt.Fprintf(&b, "%s\n", p.Text)
		case firn.ToolCall:
			fmt.Fprintf(&b, "%s %s %s\n", p.ID, p.Name, p.Arguments)
		}
	}
	if message.StopReason != firn.StopEnd {
		fmt.Fprintf(&b, "[%s]\n", message.StopReason)
	}
	return b.String()
}

// ask sends a request and checks the invariants of every answer.
func ask(t testing.TB, m *Model, req provider.Request) (firn.Message, error) {
	t.Helper()
	var draft provider.Draft
	var done *firn.Message
	var failure error
	for event, err := range m.Stream(context.Background(), req) {
		if done != nil || failure != nil {
			t.Fatal("an event follows the end")
		}
		if err != nil {
			failure = err
			continue
		}
		if d, ok := event.(provider.Done); ok {
			done = &d.Message
		}
		draft.Add(event)
	}
	if failure != nil {
		return firn.Message{}, failure
	}
	if done == nil {
		t.Fatal("no end")
	}
	if got := draft.Parts(); len(got)+len(done.Parts) > 0 && !reflect.DeepEqual(got, done.Parts) {
		t.Fatalf("streamed\n%#v\nsaid\n%#v", got, done.Parts)
	}
	tokens := window.Chars{}.CountMessage(done)
	if req.MaxTokens > 0 && tokens > req.MaxTokens {
		t.Fatalf("%d tokens of at most %d: %#v", tokens, req.MaxTokens, done.Parts)
	}
	if u := done.Usage; u == nil || u.Output != tokens || u.Input != req.Tokens(window.Chars{}) || u.Total != u.Input+u.Output || u.Total > m.Info().Window {
		t.Fatalf("the usage is %+v", done.Usage)
	}
	return *done, nil
}

func TestOverflow(t *testing.T) {
	req := setting{}.request("[User]: " + strings.Repeat("long ", 400))
	_, err := ask(t, New(Options{Window: 499}), req)
	var e *provider.Error
	if !errors.As(err, &e) || e.Kind != provider.Overflow || e.Message != "prompt is too long: 500 tokens > 499 maximum" {
		t.Errorf("the error is %v", err)
	}
	if m, err := ask(t, New(Options{Window: 500}), req); err != nil || m.StopReason != firn.StopLength {
		t.Errorf("a request that just fits gets %+v, %v", m, err)
	}
}

// TestCountTokens checks that tools, system prompt and messages are counted.
func TestCountTokens(t *testing.T) {
	req := setting{tools: offer("abcd")}.request("[User]: 12345678")
	req.Window.System = "1234"
	if n, err := New(Options{}).CountTokens(t.Context(), req); err != nil || n != 1+2+1+5 {
		t.Errorf("it has %d tokens, %v", n, err)
	}
}

func TestDelay(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		m := New(Options{Delay: 10 * time.Millisecond})
		began := time.Now()
		pieces := 0
		for event := range m.Stream(t.Context(), setting{}.request("[User]: thanks")) {
			if _, ok := event.(provider.TextDelta); ok {
				pieces++
			}
		}
		if pieces != 3 || time.Since(began) != 30*time.Millisecond {
			t.Errorf("%d pieces took %v", pieces, time.Since(began))
		}
	})
}

func TestDelayEndsWithContext(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		ctx, cancel := context.WithTimeout(t.Context(), 25*time.Millisecond)
		defer cancel()
		var last error
		pieces := 0
		for _, err := range New(Options{Delay: 10 * time.Millisecond}).Stream(ctx, setting{}.request("[User]: help")) {
			if last = err; err == nil {
				pieces++
			}
		}
		if pieces != 2 || !errors.Is(last, context.DeadlineExceeded) {
			t.Errorf("%d pieces, then %v", pieces, last)
		}
	})
}

// TestDeterministic covers a whole conversation: a tool is called, its result reported, and
// then quoted.
func TestDeterministic(t *testing.T) {
	req := setting{tools: offer("now", "calc", "recall")}.request("[User]: my name is Ada\n\n[Assistant]: ok\n\n[User]: what is 2+3 and what time is it")
	first := play(t, New(Options{}), req)
	for range 20 {
		if again := play(t, New(Options{}), req); again != first {
			t.Fatalf("first\n%s\nthen\n%s", first, again)
		}
	}
}
