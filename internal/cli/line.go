package cli

import (
	"bytes"
	"encoding/json"
	"fmt"
	"strings"
	"time"

	"firn"
	"firn/internal/prose"
	"firn/wire"
)

// line is what people are shown of a line of a transcript. Only what is shown
// is read; see docs/format.md.
type line struct {
	Type      string       `json:"type"`
	ID        firn.EntryID `json:"id"`
	Timestamp time.Time    `json:"timestamp"`
	Message   *said        `json:"message"`
	Summary   string       `json:"summary"`
	Target    firn.EntryID `json:"targetId"`
	Name      string       `json:"name"`
	Label     string       `json:"label"`
	Provider  string       `json:"provider"`
	Model     string       `json:"modelId"`
	Level     string       `json:"thinkingLevel"`
	Reason    string       `json:"reason"`
	Custom    string       `json:"customType"`
	CWD       string       `json:"cwd"`
	Key       string       `json:"key"`
	Before    int64        `json:"tokensBefore"`
	Kept      firn.EntryID `json:"firstKeptEntryId"`
}

// said is a message.
type said struct {
	Role    string          `json:"role"`
	Content json.RawMessage `json:"content"`
	Stop    string          `json:"stopReason"`
	Error   string          `json:"errorMessage"`
	Tool    string          `json:"toolName"`
	Failed  bool            `json:"isError"`
	Command string          `json:"command"`
	Output  string          `json:"output"`
}

// part is a piece of a message.
type part struct {
	Type      string          `json:"type"`
	Text      string          `json:"text"`
	Thinking  string          `json:"thinking"`
	Name      string          `json:"name"`
	Arguments json.RawMessage `json:"arguments"`
	MimeType  string          `json:"mimeType"`
}

// readLine reads what can be shown of a line; false if it is no entry.
func readLine(raw json.RawMessage) (line, bool) {
	var l line
	err := json.Unmarshal(raw, &l)
	return l, (err == nil || l.Type != "") && l.Type != ""
}

// parts are the pieces of a message. A message may be just a text.
func (s *said) parts() []part {
	var text string
	if json.Unmarshal(s.Content, &text) == nil {
		return []part{{Type: "text", Text: text}}
	}
	var parts []part
	if json.Unmarshal(s.Content, &parts) != nil {
		return nil
	}
	return parts
}

// who says who speaks.
func (l line) who() string {
	if l.Message == nil {
		return kindNames(l.Type)
	}
	switch l.Message.Role {
	case "user":
		return "you"
	case "assistant":
		return "agent"
	case "toolResult":
		return "tool"
	case "bashExecution":
		return "shell"
	}
	return prose.OneLine(l.Message.Role, 20)
}

// kindNames calls kinds of entries by the words of people.
func kindNames(kind string) string {
	switch firn.Kind(kind) {
	case firn.KindHeader:
		return "session"
	case firn.KindTitle:
		return "title"
	case firn.KindModelChange:
		return "model"
	case firn.KindThinkingChange:
		return "thinking"
	case firn.KindBranchSummary:
		return "branch"
	case firn.KindCustomMessage:
		return "note"
	}
	return prose.OneLine(kind, 20)
}

// resultLines is how many lines are shown of what a tool returned, unless all
// are asked for.
const resultLines = 3

// body is what an entry says, as lines.
func (l line) body(full bool) []string {
	if l.Message != nil {
		return l.Message.lines(full)
	}
	switch firn.Kind(l.Type) {
	case firn.KindHeader:
		return []string{prose.OneLine(strings.TrimSpace(l.Key+" "+l.CWD), 200)}
	case firn.KindCompaction:
		return append([]string{fmt.Sprintf("(%s tokens before, kept from %s on)", prose.Grouped(l.Before), prose.Clean(string(l.Kept)))}, split(l.Summary)...)
	case firn.KindBranchSummary:
		return split(l.Summary)
	case firn.KindTombstone:
		return []string{strings.TrimSpace("hides " + prose.Clean(string(l.Target)) + " " + prose.OneLine(l.Reason, 200))}
	case firn.KindLabel:
		return []string{prose.Clean(string(l.Target)) + " is " + prose.OneLine(l.Label, 200)}
	case firn.KindTitle:
		return []string{prose.OneLine(l.Name, 200)}
	case firn.KindModelChange:
		return []string{prose.Clean(l.Provider + "/" + l.Model)}
	case firn.KindThinkingChange:
		return []string{prose.Clean(l.Level)}
	case firn.KindCustom, firn.KindCustomMessage:
		return []string{prose.OneLine(l.Custom, 200)}
	case firn.KindHead:
		return []string{prose.OneLine("goes on from the entry before it; "+l.Reason, 200)}
	}
	return nil
}

// lines is what a message says.
func (s *said) lines(full bool) []string {
	if s.Role == "bashExecution" {
		return append([]string{"$ " + prose.OneLine(s.Command, 200)}, cut(split(s.Output), full)...)
	}
	var lines []string
	for _, p := range s.parts() {
		switch p.Type {
		case "text":
			text := split(p.Text)
			if s.Role == "toolResult" {
				text = cut(text, full)
			}
			lines = append(lines, text...)
		case "thinking":
			if full {
				lines = append(lines, split(p.Thinking)...)
			} else {
				lines = append(lines, "(thinks: "+prose.OneLine(p.Thinking, 60)+")")
			}
		case "toolCall":
			lines = append(lines, "· "+prose.OneLine(p.Name+" "+string(p.Arguments), 160))
		case "image":
			lines = append(lines, "["+prose.OneLine(p.MimeType, 40)+"]")
		}
	}
	if s.Role == "toolResult" && s.Tool != "" {
		state := ""
		if s.Failed {
			state = " failed"
		}
		lines = append([]string{"· " + prose.OneLine(s.Tool, 40) + state}, lines...)
	}
	if s.Error != "" {
		lines = append(lines, "("+prose.OneLine(s.Stop+": "+s.Error, 300)+")")
	}
	return lines
}

// split takes a text apart into lines that are safe to be shown.
func split(text string) []string {
	return strings.Split(strings.TrimRight(prose.CleanLines(text), "\n"), "\n")
}

// cut bounds lines.
func cut(lines []string, full bool) []string {
	if full || len(lines) <= resultLines+1 {
		return lines
	}
	return append(lines[:resultLines:resultLines], fmt.Sprintf("… %d more lines (--full)", len(lines)-resultLines))
}

// entryText is an entry as people read it: who and when, and what was said.
func entryText(e wire.Entry, full bool) string {
	number := ""
	if e.N > 0 {
		number = fmt.Sprintf("#%d ", e.N)
	}
	if e.Gap != "" {
		return fmt.Sprintf("%s(%s)\n\n", number, prose.OneLine(e.Gap, 200))
	}
	l, ok := readLine(e.Line)
	if !ok {
		return fmt.Sprintf("%s(a line that cannot be read, of %s)\n\n", number, prose.Size(int64(len(e.Line))))
	}
	var b bytes.Buffer
	fmt.Fprintf(&b, "%s%s  %s  %s", number, l.who(), l.Timestamp.Local().Format("2006-01-02 15:04"), prose.Clean(string(l.ID)))
	if e.Out != "" {
		fmt.Fprintf(&b, "  (%s)", prose.OneLine(e.Out, 40))
	}
	b.WriteByte('\n')
	for _, text := range l.body(full) {
		if text = strings.TrimRight(text, " "); text != "" {
			b.WriteString("  " + text)
		}
		b.WriteByte('\n')
	}
	b.WriteByte('\n')
	return b.String()
}
