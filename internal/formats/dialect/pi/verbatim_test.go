package pi

import (
	"testing"
	"time"

	"firn.dev"
	"firn.dev/internal/formats/dialect"
	"firn.dev/internal/formats/dialect/native"
)

// TestVerbatim checks that a line accepted by Verbatim equals the printed one.
func TestVerbatim(t *testing.T) {
	at := time.Date(2026, 1, 2, 3, 4, 5, 0, time.UTC)
	entries := []firn.Entry{
		{ID: "a", Time: at, Body: &firn.Message{Role: firn.RoleUser, Time: at, Parts: []firn.Part{firn.Text{Text: "hi"}}}},
		{ID: "b", Parent: "a", Time: at, Body: &firn.Message{Role: firn.RoleAssistant, Time: at, Provider: "p", Model: "m", API: "x", Usage: &firn.Usage{Input: 1}, StopReason: firn.StopToolUse,
			Parts: []firn.Part{firn.Text{Text: "there"}, firn.ToolCall{ID: "c", Name: "t", Arguments: []byte(`{"a":1}`)}}}},
		{ID: "c", Parent: "b", Time: at, Body: &firn.Message{Role: firn.RoleToolResult, Time: at, Parts: []firn.Part{firn.ToolResult{CallID: "c", Name: "t", Content: []firn.Part{firn.Text{Text: "r"}}}}}},
		{ID: "d", Parent: "c", Time: at, Body: &firn.Message{Role: firn.RoleAssistant, Time: at, Parts: []firn.Part{firn.Text{Text: "no usage"}}}},
		{ID: "e", Parent: "d", Time: at, Body: &firn.Title{Name: "x", Source: firn.SourceAuto}},
	}
	p := newPrinter(native.New(), dialect.Target{Session: "s", CWD: "/x"})
	if _, err := p.Print(nil, firn.Entry{Time: at, Body: &firn.Header{Session: "s"}}); err != nil {
		t.Fatal(err)
	}
	taken := 0
	for _, e := range entries {
		line, err := native.New().Append(nil, e)
		if err != nil {
			t.Fatal(err)
		}
		verbatim := p.Verbatim(e, line)
		printed, err := p.Print(nil, e)
		if err != nil {
			t.Fatal(err)
		}
		if verbatim {
			taken++
			if string(printed) != string(line)+"\n" {
				t.Errorf("entry %s is printed as\n%s\nand copied as\n%s", e.ID, printed, line)
			}
		}
	}
	if taken != 3 {
		t.Errorf("%d entries were taken over, want 3", taken)
	}
}
