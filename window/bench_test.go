package window_test

import (
	"encoding/json"
	"fmt"
	"strings"
	"testing"

	"firn.dev"
	"firn.dev/window"
)

// largeSession returns a session with about the given number of bytes of text: turns with one
// tool call each, mostly ASCII.
func largeSession(size int) log {
	l := parse("s header")
	small, large := strings.Repeat("some words ", 20), strings.Repeat("a line of output with words in it\n", 150)
	args, _ := json.Marshal(map[string]string{"command": strings.Repeat("ls -l ", 60)})
	add := func(m *firn.Message) {
		e := firn.Entry{ID: firn.EntryID(fmt.Sprint("e", len(l))), Body: m}
		if len(l) > 1 {
			e.Parent = l[len(l)-1].Glance.ID
		}
		l.add(e)
	}
	for n := 0; size > 0; n++ {
		id := fmt.Sprint("toolu_", n)
		add(userBody(small))
		add(&firn.Message{Role: firn.RoleAssistant, API: "a", Provider: "p", Model: "m", Parts: []firn.Part{
			firn.Thinking{Text: small, Signature: "c2ln"}, firn.Text{Text: small}, firn.ToolCall{ID: id, Name: "bash", Arguments: args},
		}})
		add(&firn.Message{Role: firn.RoleToolResult, Parts: []firn.Part{firn.ToolResult{CallID: id, Name: "bash", Content: []firn.Part{firn.Text{Text: large}}}}})
		add(&firn.Message{Role: firn.RoleAssistant, API: "a", Provider: "p", Model: "m", Parts: []firn.Part{firn.Text{Text: small}}})
		size -= 4*len(small) + len(large) + len(args)
	}
	return l
}

func BenchmarkCollect(b *testing.B) {
	const size = 200 << 20
	l := largeSession(size)
	b.SetBytes(size)
	b.ReportAllocs()
	for b.Loop() {
		collectLog(b, l)
	}
}

func BenchmarkBuild(b *testing.B) {
	const size = 200 << 20
	p := collectLog(b, largeSession(size))
	for _, profile := range append(window.Profiles(), window.Profile{Name: "none"}) {
		b.Run(profile.Name, func(b *testing.B) {
			b.SetBytes(size)
			b.ReportAllocs()
			for b.Loop() {
				window.Build(p, window.Options{Profile: profile, Ask: window.Ask{API: "a", Provider: "p", Model: "m"}})
			}
		})
	}
}

// tenThousand returns a path of 10,000 entries: 2,500 turns with one tool call each, or one
// turn with 5,000 calls.
func tenThousand(oneTurn bool) window.Path {
	var messages []firn.Message
	for _, rec := range largeSession(2500 * 6600)[1:] {
		e, _ := rec.Entry()
		m := e.Body.(*firn.Message)
		if oneTurn && m.Role == firn.RoleUser && len(messages) > 0 {
			m = assistantBody("go on")
		}
		messages = append(messages, *m)
	}
	return window.PathOf(messages[:min(len(messages), 10000)])
}

// BenchmarkShrink measures the steps that make a path of 10,000 entries and about 16 MB fit a
// request.
func BenchmarkShrink(b *testing.B) {
	turns, single := tenThousand(false), tenThousand(true)
	ways := []struct {
		name string
		do   func() window.Path
	}{
		{"fit/all", func() window.Path { return turns.Fit(1<<40, nil) }},
		{"fit/half", func() window.Path { return turns.Fit(2_000_000, nil) }},
		{"fit/little", func() window.Path { return turns.Fit(100_000, nil) }},
		{"fit/one-turn", func() window.Path { return single.Fit(100_000, nil) }},
		{"limit", func() window.Path { return turns.Limit(20) }},
		{"prune/trim", func() window.Path {
			return turns.Prune(window.Pruning{HardClear: window.HardClear{Disabled: true}}, 200_000)
		}},
		{"prune/clear", func() window.Path { return turns.Prune(window.Pruning{}, 200_000) }},
		{"prune/nothing", func() window.Path { return turns.Prune(window.Pruning{}, 1<<40) }},
		{"bound", func() window.Path { return turns.BoundResults(50000) }},
	}
	for _, way := range ways {
		b.Run(way.name, func(b *testing.B) {
			b.ReportAllocs()
			for b.Loop() {
				way.do()
			}
		})
	}
}
