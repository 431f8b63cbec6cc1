package windowtest_test

import (
	"encoding/json"
	"errors"
	"strings"
	"testing"

	"firn.dev"
	"firn.dev/window"
	"firn.dev/window/windowtest"
)

func user(parts ...firn.Part) window.Item {
	return window.Item{Message: firn.Message{Role: firn.RoleUser, Parts: parts}}
}

func assistant(parts ...firn.Part) window.Item {
	return window.Item{Message: firn.Message{Role: firn.RoleAssistant, Model: "m", Parts: parts}}
}

func result(id string, content ...firn.Part) window.Item {
	r := firn.ToolResult{CallID: id, Name: "ls", Content: content}
	return window.Item{Message: firn.Message{Role: firn.RoleToolResult, Parts: []firn.Part{r}}}
}

func call(id string) firn.ToolCall { return callWith(id, "ls", "{}") }

func callWith(id, name, args string) firn.ToolCall {
	return firn.ToolCall{ID: id, Name: name, Arguments: json.RawMessage(args)}
}

func text(s string) firn.Text { return firn.Text{Text: s} }

func thought(mark string) firn.Thinking { return firn.Thinking{Text: "hm", Signature: mark} }

func png(n int) []firn.Part {
	var parts []firn.Part
	for range n {
		parts = append(parts, firn.Image{MimeType: "image/png", Data: "AAAA"})
	}
	return parts
}

const all = "anthropic openai-chat openai-responses gemini mistral"

// TestCheck checks that each case is rejected by the named providers and by no other.
func TestCheck(t *testing.T) {
	a, b := user(text("a")), user(text("b"))
	x, y := assistant(text("x")), assistant(text("y"))
	r := text("r")
	id := "abcdefghi" // legal everywhere
	tests := []struct {
		name, refused string
		items         []window.Item
	}{
		{"nothing", "", nil},
		{"fine", "", []window.Item{a, assistant(text("x"), call(id)), result(id, r), y, b}},
		{"unknown role", all, []window.Item{{Message: firn.Message{Role: "alien", Parts: []firn.Part{r}}}}},
		{"no parts", all, []window.Item{user()}},
		{"empty text", all, []window.Item{user(text(""))}},
		{"blank text", all, []window.Item{user(text(" \n"))}},
		{"NUL", all, []window.Item{user(text("\x00"))}},
		{"not UTF-8", all, []window.Item{user(text("a\xff"))}},
		{"half a rune", all, []window.Item{a, assistant(call(id)), result(id, text("\xf0\x9f"))}},
		{"two users", all, []window.Item{a, b}},
		{"two assistants", all, []window.Item{a, x, y, b}},
		{"assistant first", all, []window.Item{x, a}},
		{"assistant last", "anthropic gemini mistral", []window.Item{a, x}},
		{"space last", "anthropic gemini mistral", []window.Item{a, assistant(text("x "))}},
		{"user after a tool", "mistral", []window.Item{a, assistant(call(id)), result(id, r), b}},
		{"call without result", all, []window.Item{a, assistant(call(id)), b}},
		{"call without result at the end", all, []window.Item{a, assistant(call(id))}},
		{"one of two results", all, []window.Item{a, assistant(call(id), call("abcdefghj")), result(id, r), y, b}},
		{"result without call", all, []window.Item{a, x, result(id, r), y, b}},
		{"result twice", all, []window.Item{a, assistant(call(id)), result(id, r), result(id, r), y, b}},
		{"result of another tool", all, []window.Item{a, assistant(callWith(id, "cat", "{}")), result(id, r), y, b}},
		{"result first", all, []window.Item{result(id, r), x, b}},
		{"empty result", all, []window.Item{a, assistant(call(id)), result(id), y, b}},
		{"blank result", all, []window.Item{a, assistant(call(id)), result(id, text(" ")), y, b}},
		{"thinking in a result", all, []window.Item{a, assistant(call(id)), result(id, thought("c2ln")), y, b}},
		{"text beside a result", all, []window.Item{a, assistant(call(id)), {Message: firn.Message{Role: firn.RoleToolResult, Parts: []firn.Part{r}}}, y, b}},
		{"same id in one message", all, []window.Item{a, assistant(call(id), call(id)), result(id, r), result(id, r), y, b}},
		{"same id later", all, []window.Item{a, assistant(call(id)), result(id, r), assistant(call(id)), result(id, r), y, b}},
		{"id with a dash", "gemini mistral", []window.Item{a, assistant(call("abcd-fghi")), result("abcd-fghi", r), y, b}},
		{"id with a bar", "anthropic openai-responses gemini mistral", []window.Item{a, assistant(call("abcd|fghi")), result("abcd|fghi", r), y, b}},
		{"id of ten", "mistral", []window.Item{a, assistant(call("abcdefghij")), result("abcdefghij", r), y, b}},
		{"id of fifty", "openai-chat gemini mistral", []window.Item{a, assistant(call(strings.Repeat("x", 50))), result(strings.Repeat("x", 50), r), y, b}},
		{"no id", all, []window.Item{a, assistant(call("")), result("", r), y, b}},
		{"tool name with a slash", all, []window.Item{a, assistant(callWith(id, "a/b", "{}"))}},
		{"arguments not JSON", all, []window.Item{a, assistant(callWith(id, "ls", `{"a":`)), result(id, r), y, b}},
		{"arguments a list", all, []window.Item{a, assistant(callWith(id, "ls", `[]`)), result(id, r), y, b}},
		{"arguments null", all, []window.Item{a, assistant(callWith(id, "ls", `null`)), result(id, r), y, b}},
		{"arguments with half a pair", all, []window.Item{a, assistant(callWith(id, "ls", `{"a":"\ud83d"}`)), result(id, r), y, b}},
		{"arguments with two halves", all, []window.Item{a, assistant(callWith(id, "ls", `{"a":"\ude00\ud83d"}`)), result(id, r), y, b}},
		{"arguments with a pair", "", []window.Item{a, assistant(callWith(id, "ls", `{"a":"\\ud83d \ud83d\ude00"}`)), result(id, r), y, b}},
		{"arguments with NUL", all, []window.Item{a, assistant(callWith(id, "ls", `{"a":"\u0000"}`)), result(id, r), y, b}},
		{"signed thinking", "openai-chat mistral", []window.Item{a, assistant(thought("c2ln"), text("x")), b}},
		{"unsigned thinking", all, []window.Item{a, assistant(thought(""), text("x")), b}},
		{"mark that is not base64", "openai-chat gemini mistral", []window.Item{a, assistant(thought("rs_1"), text("x")), b}},
		{"marked text", "openai-chat mistral", []window.Item{a, assistant(firn.Text{Text: "x", Signature: "c2ln"}), b}},
		{"thinking last", "anthropic openai-chat openai-responses mistral", []window.Item{a, assistant(text("x"), thought("c2ln")), b}},
		{"thinking of the user", all, []window.Item{user(thought("c2ln"))}},
		{"call of the user", all, []window.Item{user(call(id))}},
		{"result of the user", all, []window.Item{user(firn.ToolResult{CallID: id})}},
		{"image", "", []window.Item{user(png(1)...)}},
		{"image of the assistant", all, []window.Item{a, assistant(png(1)...), b}},
		{"image in a result", "openai-chat mistral", []window.Item{a, assistant(call(id)), result(id, png(1)...), y, b}},
		{"ten images", "mistral", []window.Item{user(png(10)...)}},
		{"thirty images", "anthropic mistral", []window.Item{user(png(30)...)}},
		{"image of another type", all, []window.Item{user(firn.Image{MimeType: "image/tiff", Data: "AAAA"})}},
		{"image with a wrong type", all, []window.Item{user(firn.Image{MimeType: "image/png", Data: "R0lGODlhAQABAAAAAA=="})}},
		{"image not base64", all, []window.Item{user(firn.Image{MimeType: "image/png", Data: "AAA"})}},
		{"empty image", all, []window.Item{user(firn.Image{MimeType: "image/png"})}},
		{"image too wide", "anthropic", []window.Item{user(firn.Image{MimeType: "image/gif", Data: "R0lGODlhKCMBAAAAAA=="})}},
		{"large image", "anthropic", []window.Item{user(firn.Image{MimeType: "image/png", Data: strings.Repeat("AAAA", 3<<19)})}},
		{"unknown part", all, []window.Item{user(firn.OpaquePart{Type: "video"})}},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			for _, p := range window.Profiles() {
				err := windowtest.Check(p, window.Window{Items: tt.items})
				if want := strings.Contains(tt.refused, p.Name); (err != nil) != want {
					t.Errorf("%s: got %v, want a refusal: %v", p.Name, err, want)
				}
			}
		})
	}
}

// TestCheckAsk checks that marks of a different model are rejected.
func TestCheckAsk(t *testing.T) {
	items := []window.Item{user(text("a")), assistant(thought("c2ln"), text("x")), user(text("b"))}
	if err := windowtest.Check(window.Anthropic(), window.Window{Items: items, Ask: window.Ask{Model: "m"}}); err != nil {
		t.Error(err)
	}
	if err := windowtest.Check(window.Anthropic(), window.Window{Items: items, Ask: window.Ask{Model: "n"}}); err == nil {
		t.Error("thinking of another model is accepted")
	}
}

func TestCheckSystem(t *testing.T) {
	if err := windowtest.Check(window.Gemini(), window.Window{System: "\xff"}); err == nil {
		t.Error("a system prompt that is not text is accepted")
	}
	if err := windowtest.Check(window.Profile{Name: "nobody"}, window.Window{}); !errors.Is(err, firn.ErrUnsupported) {
		t.Errorf("got %v, want an ErrUnsupported", err)
	}
}
