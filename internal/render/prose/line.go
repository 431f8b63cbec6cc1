package prose

import (
	"bytes"
	"cmp"
	"encoding/json"
	"fmt"
	"strings"
	"time"

	"firn.dev"
	"firn.dev/internal/base/blocks"
	"firn.dev/wire"
)

// Line is the part of a transcript line that is displayed; see docs/format.md.
type Line struct {
	Type      string       `json:"type"`
	ID        firn.EntryID `json:"id"`
	Timestamp time.Time    `json:"timestamp"`
	Message   *Message     `json:"message"`
	Summary   string       `json:"summary"`
	Target    firn.EntryID `json:"targetId"`
	Name      string       `json:"name"`
	Label     string       `json:"label"`
	Provider  string       `json:"provider"`
	Model     string       `json:"modelId"`
	Level     string       `json:"thinkingLevel"`
	Reason    string       `json:"reason"`
	Custom    string       `json:"customType"`
	// Data is the data of a custom entry.
	Data json.RawMessage `json:"data"`
	// Content is the message of a program, and By the program.
	Content json.RawMessage `json:"content"`
	By      string          `json:"by"`
	// Display is true if the message of a program is also for the user.
	Display   bool         `json:"display"`
	CWD       string       `json:"cwd"`
	Key       string       `json:"key"`
	Before    int64        `json:"tokensBefore"`
	FirstKept firn.EntryID `json:"firstKeptEntryId"`
	// Sender is the user who sent a message, Agent the agent that answered.
	Sender word `json:"sender"`
	Agent  word `json:"agent"`
	// Redacted is the number of secrets that were replaced before the entry was stored.
	Redacted int `json:"masked"`
}

// word is a string; a value of another type decodes as empty.
type word string

// UnmarshalJSON implements [json.Unmarshaler].
func (w *word) UnmarshalJSON(data []byte) error {
	var s string
	_ = json.Unmarshal(data, &s) // other types decode as empty
	*w = word(s)
	return nil
}

// Message is a message.
type Message struct {
	Role    string          `json:"role"`
	Content json.RawMessage `json:"content"`
	Stop    string          `json:"stopReason"`
	Error   string          `json:"errorMessage"`
	Tool    string          `json:"toolName"`
	Failed  bool            `json:"isError"`
	Command string          `json:"command"`
	Output  string          `json:"output"`
	// Sections are the sections of a system prompt.
	Sections json.RawMessage `json:"sections"`
}

// Piece is a part of a message.
type Piece struct {
	Type      string          `json:"type"`
	Text      string          `json:"text"`
	Thinking  string          `json:"thinking"`
	Name      string          `json:"name"`
	Arguments json.RawMessage `json:"arguments"`
	MimeType  string          `json:"mimeType"`
}

// ReadLine decodes a line for display. It returns false if the line is not an entry.
func ReadLine(raw json.RawMessage) (Line, bool) {
	var l Line
	_ = json.Unmarshal(raw, &l) // invalid members are left empty
	return l, l.Type != ""
}

// Pieces returns the parts of a message, whose content may be a plain string.
func (s *Message) Pieces() []Piece {
	var text string
	if json.Unmarshal(s.Content, &text) == nil {
		return []Piece{{Type: "text", Text: text}}
	}
	var parts []Piece
	if json.Unmarshal(s.Content, &parts) != nil {
		return nil
	}
	return parts
}

// Text returns the text of a message.
func (s *Message) Text() string {
	var texts []string
	for _, p := range s.Pieces() {
		if p.Type == "text" {
			texts = append(texts, p.Text)
		}
	}
	return strings.Join(texts, "\n")
}

// Draft returns the partial answer that an entry stores, or false if it stores none. The
// final answer repeats the text.
func (l Line) Draft() (text string, ok bool) {
	if l.Custom != firn.DraftType {
		return "", false
	}
	var piece struct {
		Text string `json:"text"`
	}
	_ = json.Unmarshal(l.Data, &piece) // invalid members are left empty
	return piece.Text, true
}

// usageType is the type of an entry that records usage outside of turns.
const usageType = "firn.usage"

// Counts reports whether an entry only records usage.
func (l Line) Counts() bool { return l.Custom == firn.CountersType || l.Custom == usageType }

// Answers reports whether an entry is part of an answer: a message of the model, or a tool
// result.
func (l Line) Answers() bool {
	return l.Message != nil && (l.Message.Role == "assistant" || l.Message.Role == "toolResult")
}

// Author returns the author of an entry.
func (l Line) Author() string {
	if l.Message == nil {
		return KindName(l.Type)
	}
	switch l.Message.Role {
	case "user":
		return cmp.Or(OneLine(string(l.Sender), 40), "you")
	case "assistant":
		return cmp.Or(OneLine(string(l.Agent), 40), "agent")
	case "toolResult":
		return "tool"
	case "bashExecution":
		return "shell"
	}
	return OneLine(l.Message.Role, 20)
}

// KindName returns the display name of an entry kind.
func KindName(kind string) string {
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
	case firn.KindErased:
		return "purged"
	}
	return OneLine(kind, 20)
}

// Undisplayed reports whether an entry is a message of a program that is only for the
// model.
func (l Line) Undisplayed() bool { return firn.Kind(l.Type) == firn.KindCustomMessage && !l.Display }

// resultLines is the number of lines shown of a tool result, unless all are requested.
const resultLines = 3

// body returns the content of an entry as lines, with a note if secrets were replaced in it.
func (l Line) body(full bool) []string {
	lines := l.content(full)
	if l.Redacted > 0 {
		lines = append(lines, "("+Plural(l.Redacted, "secret")+" replaced before storing)")
	}
	return lines
}

// content returns the content of an entry as lines.
func (l Line) content(full bool) []string {
	if l.Message != nil {
		return l.Message.lines(full)
	}
	switch firn.Kind(l.Type) {
	case firn.KindHeader:
		return []string{OneLine(strings.TrimSpace(l.Key+" "+l.CWD), 200)}
	case firn.KindCompaction:
		return append([]string{fmt.Sprintf("(%s tokens before, kept from %s onward)", Grouped(l.Before), Clean(string(l.FirstKept)))}, Lines(l.Summary)...)
	case firn.KindBranchSummary:
		return Lines(l.Summary)
	case firn.KindTombstone:
		return []string{strings.TrimSpace("hides " + Clean(string(l.Target)) + " " + OneLine(l.Reason, 200))}
	case firn.KindLabel:
		return []string{Clean(string(l.Target)) + " is " + OneLine(l.Label, 200)}
	case firn.KindTitle:
		return []string{OneLine(l.Name, 200)}
	case firn.KindModelChange:
		return []string{Clean(l.Provider + "/" + l.Model)}
	case firn.KindThinkingChange:
		return []string{Clean(l.Level)}
	case firn.KindCustomMessage:
		message := Message{Content: l.Content}
		return append([]string{OneLine(cmp.Or(l.By, l.Custom), 200)}, message.lines(full)...)
	case firn.KindCustom:
		if text, ok := l.Draft(); ok {
			return append([]string{"part of an answer in progress"}, Lines(text)...)
		}
		if m, ok := blocks.Sidechain(&firn.Custom{Type: l.Custom, Data: l.Data}); ok {
			return append([]string{"a sub-agent's " + string(m.Role) + " message"}, sidechainLines(m, full)...)
		}
		return []string{OneLine(l.Custom, 200)}
	case firn.KindHead:
		return []string{OneLine("continues from the previous entry; "+l.Reason, 200)}
	}
	return nil
}

// sidechainLines returns the lines of a message in the transcript of a sub-agent.
func sidechainLines(m *firn.Message, full bool) (lines []string) {
	for _, part := range m.Parts {
		switch p := part.(type) {
		case firn.Text:
			lines = append(lines, Lines(p.Text)...)
		case firn.ToolCall:
			lines = append(lines, "· "+OneLine(p.Name+" "+string(p.Arguments), 160))
		case firn.ToolResult:
			lines = append(lines, cut(Lines(firn.JoinText(p.Content)), full)...)
		}
	}
	return lines
}

// lines returns the content of a message as lines.
func (s *Message) lines(full bool) []string {
	if s.Role == "bashExecution" {
		return append([]string{"$ " + OneLine(s.Command, 200)}, cut(Lines(s.Output), full)...)
	}
	var lines []string
	for _, p := range s.Pieces() {
		switch p.Type {
		case "text":
			text := Lines(p.Text)
			if s.Role == "toolResult" {
				text = cut(text, full)
			}
			lines = append(lines, text...)
		case "thinking":
			if full {
				lines = append(lines, Lines(p.Thinking)...)
			} else {
				lines = append(lines, "(thinks: "+OneLine(p.Thinking, 60)+")")
			}
		case "toolCall":
			lines = append(lines, "· "+OneLine(p.Name+" "+string(p.Arguments), 160))
		case "image":
			lines = append(lines, "["+OneLine(p.MimeType, 40)+"]")
		}
	}
	if s.Role == "toolResult" && s.Tool != "" {
		state := ""
		if s.Failed {
			state = " failed"
		}
		lines = append([]string{"· " + OneLine(s.Tool, 40) + state}, lines...)
	}
	if s.Role == "system" && len(s.Sections) > 0 {
		prompt := &firn.Message{Role: firn.RoleSystem, Extra: firn.Fields{{Name: firn.SectionsField, Value: s.Sections}}}
		lines = append(lines, Lines(prompt.Text())...)
	}
	if s.Error != "" {
		lines = append(lines, "("+OneLine(s.Stop+": "+s.Error, 300)+")")
	}
	return lines
}

// Lines splits a text into lines that are safe to display.
func Lines(text string) []string {
	return strings.Split(strings.TrimRight(CleanLines(text), "\n"), "\n")
}

// cut limits the number of lines.
func cut(lines []string, full bool) []string {
	if full || len(lines) <= resultLines+1 {
		return lines
	}
	return append(lines[:resultLines:resultLines], fmt.Sprintf("… %d more lines (--full)", len(lines)-resultLines))
}

// outWord returns the reason why an entry is not sent to the model. It is "hidden" only for
// entries hidden by a user.
func outWord(why string) string {
	switch why {
	case "tombstoned":
		return "hidden"
	case "hidden":
		return "not sent to the model"
	}
	return OneLine(why, 40)
}

// CutOff formats the beginning of an answer that was never completed.
func CutOff(text string) string {
	var b strings.Builder
	b.WriteString("agent  (an answer that was cut off or is in progress)\n")
	for _, line := range Lines(text) {
		b.WriteString(strings.TrimRight("  "+line, " ") + "\n")
	}
	b.WriteByte('\n')
	return b.String()
}

// Damage returns the line shown in place of damage in a session.
func Damage(d wire.Damage) string { return "⚠ " + OneLine(d.String(), 300) }

// Entry formats an entry: author, time and content.
func Entry(e wire.Entry, full bool) string {
	number := ""
	if e.N > 0 {
		number = fmt.Sprintf("#%d ", e.N)
	}
	if e.Gap != "" && e.Damage != nil {
		return Damage(*e.Damage) + "\n\n"
	}
	if e.Gap != "" {
		return fmt.Sprintf("%s(%s)\n\n", number, OneLine(e.Gap, 200))
	}
	l, ok := ReadLine(e.Line)
	if !ok {
		return fmt.Sprintf("%s(an entry without a type, %s)\n\n", number, Size(int64(len(e.Line))))
	}
	var b bytes.Buffer
	if e.Damage != nil {
		b.WriteString(Damage(*e.Damage) + "\n")
	}
	fmt.Fprintf(&b, "%s%s  %s  %s", number, l.Author(), l.Timestamp.Local().Format("2006-01-02 15:04"), Clean(string(l.ID)))
	if e.Out != "" {
		fmt.Fprintf(&b, "  (%s)", outWord(e.Out))
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
