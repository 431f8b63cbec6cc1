package offline

import (
	"fmt"
	"math/rand/v2"
	"strings"
	"testing"

	"firn.dev"
	"firn.dev/provider"
	"firn.dev/window"
)

// sayings are the building blocks of random conversations: all texts that the model
// recognizes, complete and in pieces.
var sayings = []string{
	"what time is it", "what is 12*7", "read a.txt", "ls", "list files in src", "grep x in files", "write hi to a.txt", "remember that I like tea", "recall tea",
	"what did I say about tea", "my name is Ada", "what is my name", "where do I live", "I live in Berlin.", "what was my first question", "how many messages",
	"summarise", "help", "hello", "thanks", "what is the budget", "The budget is 5.", " and ", "; ", "?", "\n", ". ", "```", "<recall>", "</recall>",
	"<conversation>\n", "\n</conversation>", "<previous-summary>", "[User]: ", "<summary>", "日本語。", "🙂", "\"", "'", "a", " ", "(", "[firn] ", "…", "\u2028", "x",
	"The conversation history before this point was compacted into the following summary:\n\n<summary>\nMy name is Bo.\n</summary>",
}

func randomSaying(r *rand.Rand) string {
	var b strings.Builder
	for range r.IntN(5) {
		b.WriteString(sayings[r.IntN(len(sayings))])
	}
	return b.String()
}

var toolNames = []string{"now", "calc", "read_file", "list_dir", "grep", "write_file", "remember", "recall", "other"}

func randomEntry(r *rand.Rand, i int) firn.Entry {
	m := &firn.Message{Role: firn.RoleUser}
	text := firn.Text{Text: randomSaying(r)}
	id := fmt.Sprintf("call_%d", r.IntN(5))
	name := toolNames[r.IntN(len(toolNames))]
	switch r.IntN(8) {
	case 0, 1:
		m.Role, m.Parts = firn.RoleAssistant, []firn.Part{text}
	case 2:
		arguments := fmt.Appendf(nil, `{"expression":"1+%d","path":["x"]}`, i)
		m.Role, m.Parts = firn.RoleAssistant, []firn.Part{text, firn.ToolCall{ID: id, Name: name, Arguments: arguments}}
	case 3:
		m.Role, m.Parts = firn.RoleToolResult, []firn.Part{firn.ToolResult{CallID: id, Name: name, Content: []firn.Part{text}, IsError: r.IntN(3) == 0}}
	case 4:
		return firn.NewEntry(&firn.CustomMessage{Type: "x", Parts: []firn.Part{text, firn.Image{MimeType: "image/png", Data: "eA=="}}})
	default:
		m.Parts = []firn.Part{text}
		if r.IntN(4) == 0 {
			m.Parts = append(m.Parts, firn.Text{Text: randomSaying(r)})
		}
	}
	return firn.NewEntry(m)
}

func randomRequest(r *rand.Rand, info provider.Info) provider.Request {
	var path window.Path
	for i := range r.IntN(10) {
		path.Entries = append(path.Entries, randomEntry(r, i))
	}
	options := window.Options{System: randomSaying(r)}
	if r.IntN(5) > 0 { // windows that do not fit a profile must be handled too
		options.Profile, options.Ask = info.Profile, info.Ask()
	}
	if r.IntN(2) == 0 {
		options.Injected = []window.Injection{{Name: "recall", Parts: []firn.Part{firn.Text{Text: "<recall>\n" + randomSaying(r) + "\n</recall>"}}}}
	}
	req := provider.Request{
		Window:    window.Build(path, options),
		MaxTokens: []int64{0, 0, 1, 2, 5, 20, 1 << 62}[r.IntN(7)],
		Thinking:  []provider.Thinking{"", provider.ThinkOff, provider.ThinkHigh}[r.IntN(3)],
		Purpose:   []provider.Purpose{"", "", "", provider.ForSummary, provider.ForTitle, provider.ForFlush, "strange"}[r.IntN(7)],
	}
	for _, name := range toolNames {
		if r.IntN(2) == 0 {
			req.Tools = append(req.Tools, provider.Tool{Name: name})
		}
	}
	return req
}

// checkRandom sends a random window twice and checks that there is one end, the answer
// fits, only available tools are called, and the result is deterministic.
func checkRandom(t *testing.T, seed uint64) {
	r := rand.New(rand.NewPCG(seed, 7))
	m := New(Options{Window: []int64{0, 10, 100, 500}[r.IntN(4)]})
	req := randomRequest(r, m.Info())
	message, err := ask(t, m, req)
	if err != nil {
		if provider.KindOf(err) != provider.Overflow {
			t.Fatal(err)
		}
		return
	}
	ids := make(map[string]bool)
	for _, it := range req.Window.Items {
		for _, part := range it.Message.Parts {
			if call, ok := part.(firn.ToolCall); ok {
				ids[call.ID] = true
			}
		}
	}
	for _, part := range message.Parts {
		call, ok := part.(firn.ToolCall)
		if !ok {
			continue
		}
		if offered := (&conversation{offered: names(req.Tools)}).offers(call.Name); !offered || ids[call.ID] {
			t.Fatalf("a call that cannot be: %s %s (offered: %v)", call.ID, call.Name, offered)
		}
		ids[call.ID] = true
	}
	if first, again := play(t, m, req), play(t, m, req); first != again {
		t.Fatalf("first\n%s\nthen\n%s", first, again)
	}
}

func names(tools []provider.Tool) (names []string) {
	for _, t := range tools {
		names = append(names, t.Name)
	}
	return names
}

func TestRandomWindows(t *testing.T) {
	rounds := uint64(4000)
	if testing.Short() {
		rounds = 400
	}
	for seed := range rounds {
		checkRandom(t, seed)
	}
}

func FuzzWindow(f *testing.F) {
	f.Add(uint64(1))
	f.Fuzz(checkRandom)
}

// FuzzAsk checks that any user message is answered, unless there is no room for a tool
// call.
func FuzzAsk(f *testing.F) {
	for _, s := range sayings {
		f.Add(s, int64(50))
	}
	f.Fuzz(func(t *testing.T, text string, maxTokens int64) {
		path := window.Path{Entries: []firn.Entry{firn.UserText("my name is Ada"), firn.AssistantText("ok"), firn.UserText(text)}}
		m := New(Options{})
		req := provider.Request{
			Window: window.Build(path, window.Options{Profile: m.Info().Profile, Ask: m.Info().Ask()}),
			Tools:  offer(toolNames...), MaxTokens: max(maxTokens, 0),
		}
		message, err := ask(t, m, req)
		if err != nil {
			t.Fatal(err)
		}
		if len(message.Parts) == 0 && message.StopReason != firn.StopLength {
			t.Fatal("no answer")
		}
	})
}
