package dialecttest

import (
	"bytes"
	"encoding/json"
	"fmt"
	"strings"
	"testing"
	"testing/fstest"

	"firn.dev"
	"firn.dev/internal/formats/dialect"
)

// simple is a small correct tool. Its lines are {"id","role","text"} in order, and a call
// is a text that begins with "call ". The fields change the printer or the scanner to
// violate one guarantee each.
type simple struct {
	dialect.Tool
	// print changes a printed line; nil omits it.
	print func(n int, l simpleLine) *simpleLine
	// lose reports a loss of every second message.
	lose bool
	// late makes the scanner change its first entry after another line.
	late bool
	// stuck makes the scanner stop after a rejected line.
	stuck bool
}

type simpleLine struct {
	ID   string    `json:"id"`
	Role firn.Role `json:"role"`
	Text string    `json:"text"`
}

func (simple) Name() dialect.Name { return "simple" }

func (simple) Limits() []dialect.Limit {
	return []dialect.Limit{{Name: "branches", Becomes: "one path"}, {Name: "luck", Becomes: "lost"}}
}

func (s simple) Scanner(dialect.Origin) dialect.Scanner { return &simpleScanner{tool: s} }

func (s simple) Printer(to dialect.Target) dialect.Printer { return &simplePrinter{tool: s, to: to} }

type simpleScanner struct {
	tool  simple
	last  firn.EntryID
	begun bool
	fault bool
	first *firn.Message
}

func (s *simpleScanner) Scan(line []byte) ([]firn.Entry, error) {
	var l simpleLine
	if err := json.Unmarshal(line, &l); err != nil || s.tool.stuck && s.fault {
		s.fault = true
		if err == nil {
			return nil, nil
		}
		return nil, firn.ErrCorrupt
	}
	var out []firn.Entry
	if !s.begun {
		s.begun = true
		out = append(out, firn.Entry{Body: &firn.Header{Session: "s"}})
	}
	m := &firn.Message{Role: l.Role, Parts: []firn.Part{firn.Text{Text: l.Text}}}
	switch name, call := strings.CutPrefix(l.Text, "call "); {
	case call:
		m.Parts = []firn.Part{firn.ToolCall{ID: l.ID, Name: name, Arguments: json.RawMessage("{}")}}
	case l.Role == firn.RoleToolResult:
		m.Parts = []firn.Part{firn.ToolResult{CallID: string(s.last), Content: m.Parts}}
	}
	if s.first == nil {
		s.first = m
	} else if s.tool.late {
		s.first.Parts = []firn.Part{firn.Text{Text: "something else"}}
	}
	out = append(out, firn.Entry{ID: firn.EntryID(l.ID), Parent: s.last, Body: m})
	s.last = firn.EntryID(l.ID)
	return out, nil
}

func (s *simpleScanner) Finish() []firn.Entry {
	if s.begun {
		return nil
	}
	s.begun = true
	return []firn.Entry{{Body: &firn.Header{Session: "s"}}}
}

type simplePrinter struct {
	tool simple
	to   dialect.Target
	n    int
}

func (p *simplePrinter) Print(dst []byte, e firn.Entry) ([]byte, error) {
	m, ok := e.Body.(*firn.Message)
	if !ok {
		return dst, nil
	}
	l := simpleLine{ID: string(e.ID), Role: m.Role, Text: firn.JoinText(m.Parts)}
	switch part := m.Parts[0].(type) {
	case firn.ToolCall:
		l.Text = "call " + part.Name
	case firn.ToolResult:
		l.Text = firn.JoinText(part.Content)
	}
	p.n++
	if p.tool.lose && p.n%2 == 0 {
		p.to.OnLoss(dialect.Loss{Entry: e.ID, Kind: e.Body.Kind(), Limit: "luck", Dropped: true})
		return dst, nil
	}
	if p.tool.print != nil {
		changed := p.tool.print(p.n, l)
		if changed == nil {
			return dst, nil
		}
		l = *changed
	}
	line, err := json.Marshal(l)
	return append(append(dst, line...), '\n'), err
}

func (p *simplePrinter) Repeat(firn.Entry, [][]byte) {}

func (p *simplePrinter) Finish(dst []byte) ([]byte, error) { return dst, nil }

// TestToolSuiteFindsBrokenPromises checks that the suite detects a printer that loses,
// adds, changes or reorders entries, and a scanner that depends on later lines.
func TestToolSuiteFindsBrokenPromises(t *testing.T) {
	var text bytes.Buffer
	for i, l := range []simpleLine{{Role: "user", Text: "one"}, {Role: "assistant", Text: "call read"}, {Role: "toolResult", Text: "a file"}, {Role: "assistant", Text: "two"}, {Role: "user", Text: "three"}} {
		l.ID = fmt.Sprintf("e%d", i)
		line, _ := json.Marshal(l)
		text.Write(append(line, '\n'))
	}
	corpus := fstest.MapFS{"x.jsonl": {Data: text.Bytes()}}
	at := func(n int, change func(*simpleLine)) func(int, simpleLine) *simpleLine {
		return func(i int, l simpleLine) *simpleLine {
			if i == n {
				change(&l)
			}
			return &l
		}
	}
	for name, test := range map[string]struct {
		tool simple
		want string // part of the expected failure; empty if none is expected
	}{
		"whole":           {simple{}, ""},
		"a reported loss": {simple{lose: true}, ""},
		"nothing printed": {simple{print: func(int, simpleLine) *simpleLine { return nil }}, "reads differently"},
		"the last left out": {simple{print: func(n int, l simpleLine) *simpleLine {
			if n == 5 {
				return nil
			}
			return &l
		}}, "reads differently"},
		"another word":   {simple{print: at(1, func(l *simpleLine) { l.Text = "uno" })}, "reads differently"},
		"another role":   {simple{print: at(5, func(l *simpleLine) { l.Role = firn.RoleAssistant })}, "reads differently"},
		"another call":   {simple{print: at(2, func(l *simpleLine) { l.Text = "call write" })}, "reads differently"},
		"another result": {simple{print: at(3, func(l *simpleLine) { l.Text = "nothing" })}, "reads differently"},
		"another order": {simple{print: func(n int, l simpleLine) *simpleLine {
			l.Text = map[string]string{"one": "three", "three": "one"}[l.Text] + map[bool]string{true: l.Text}[l.Text != "one" && l.Text != "three"]
			return &l
		}}, "reads differently"},
		"a late change":  {simple{late: true}, "read differently if more follow"},
		"a stuck reader": {simple{stuck: true}, "with a torn line"},
	} {
		var r record
		runTool(&r, test.tool, corpus)
		found := strings.Join(r.found, "\n")
		if test.want == "" && found != "" || !strings.Contains(found, test.want) {
			t.Errorf("%s: the suite found %q, want %q", name, found, test.want)
		}
	}
}
