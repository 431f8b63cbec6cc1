// Package trajectory writes a session in the Agent Trajectory Interchange Format (ATIF), which
// training and evaluation tools read: a JSON object with the steps of user and agent, the calls
// with their results, and the tokens used.
package trajectory

import (
	"bytes"
	"encoding/json"
	"fmt"
	"io"
	"slices"
	"strings"
	"time"

	"firn.dev"
	"firn.dev/internal/find/mask"
	"firn.dev/internal/render/prose"
	"firn.dev/wire"
)

// Version is the version of the format.
const Version = "ATIF-v1.6"

// Options configures a writer.
type Options struct {
	// Program is the version of firn.
	Program string
	// Mask replaces text that looks like a secret.
	Mask bool
}

// Writer writes the entries of a session as steps, in order. Only the step in progress is in
// memory.
type Writer struct {
	w    io.Writer
	o    Options
	err  error
	last *step
	n    int
	// open are the calls of the last step that have no result yet.
	open []string
	sum  totals
	// masked is the number of places that were masked.
	masked int
}

// Masked returns the number of places that were masked.
func (t *Writer) Masked() int { return t.masked }

// agent is the program that produced the trajectory.
type agent struct {
	Name    string            `json:"name"`
	Version string            `json:"version"`
	Model   string            `json:"model_name,omitempty"`
	Extra   map[string]string `json:"extra,omitempty"`
}

// step is a step of the trajectory.
type step struct {
	ID          int               `json:"step_id"`
	Time        string            `json:"timestamp,omitempty"`
	Source      string            `json:"source"`
	Model       string            `json:"model_name,omitempty"`
	Message     string            `json:"message"`
	Reasoning   string            `json:"reasoning_content,omitempty"`
	Calls       []call            `json:"tool_calls,omitempty"`
	Observation *observation      `json:"observation,omitempty"`
	Metrics     *metrics          `json:"metrics,omitempty"`
	Extra       map[string]string `json:"extra,omitempty"`
}

// call is a call of a tool.
type call struct {
	ID        string          `json:"tool_call_id"`
	Name      string          `json:"function_name"`
	Arguments json.RawMessage `json:"arguments"`
}

// observation holds the results of the calls of a step.
type observation struct {
	Results []result `json:"results"`
}

type result struct {
	Call    string `json:"source_call_id,omitempty"`
	Content string `json:"content"`
}

// metrics are the tokens and the cost of one answer.
type metrics struct {
	Prompt     int64    `json:"prompt_tokens"`
	Completion int64    `json:"completion_tokens"`
	Cached     int64    `json:"cached_tokens,omitempty"`
	Cost       *float64 `json:"cost_usd,omitempty"`
}

// totals are the sums over all steps.
type totals struct {
	Prompt     int64   `json:"total_prompt_tokens"`
	Completion int64   `json:"total_completion_tokens"`
	Cached     int64   `json:"total_cached_tokens"`
	Cost       float64 `json:"total_cost_usd,omitempty"`
	Steps      int     `json:"total_steps"`
}

// New writes the head of a trajectory and returns a writer for the entries of the session.
func New(w io.Writer, s wire.Session, o Options) *Writer {
	t := &Writer{w: w, o: o}
	a := agent{Name: "firn", Version: o.Program}
	if s.Source != "" { // another tool produced it
		a.Name, a.Version = s.Source, ""
	}
	if a.Version == "" {
		a.Version = "unknown"
	}
	if s.State != nil && s.State.Model != "" {
		a.Model = s.State.Provider + "/" + s.State.Model
	}
	if s.Agent != "" {
		a.Extra = map[string]string{"agent": s.Agent}
	}
	t.printf("{\n\"schema_version\": %s,\n\"session_id\": %s,\n\"agent\": %s,\n\"steps\": [", t.encode(Version), t.encode(s.ID), t.encode(a))
	return t
}

// Entry writes an entry, if it is a step. It returns the first error of the writer.
func (t *Writer) Entry(e wire.Entry) error {
	l, ok := prose.ReadLine(e.Line)
	if !ok || e.Gap != "" || e.Out == "tombstoned" {
		return t.err
	}
	switch {
	case l.Message != nil:
		t.message(e.Line, l)
	case firn.Kind(l.Type) == firn.KindCompaction, firn.Kind(l.Type) == firn.KindBranchSummary:
		t.add(step{Source: "system", Message: t.text(l.Summary), Extra: map[string]string{"type": l.Type}}, l.Timestamp)
	case firn.Kind(l.Type) == firn.KindCustomMessage:
		m := prose.Message{Content: l.Content}
		t.add(step{Source: "user", Message: t.text(m.Text()), Extra: map[string]string{"type": l.Type, "by": l.By}}, l.Timestamp)
	}
	return t.err
}

// Close ends the trajectory.
func (t *Writer) Close() error {
	t.flush()
	t.sum.Steps = t.n
	t.printf("\n],\n\"final_metrics\": %s\n}\n", t.encode(t.sum))
	return t.err
}

// message adds a message.
func (t *Writer) message(line json.RawMessage, l prose.Line) {
	switch firn.Role(l.Message.Role) {
	case firn.RoleUser:
		s := step{Source: "user", Message: t.content(l.Message)}
		if l.Sender != "" {
			s.Extra = map[string]string{"sender": string(l.Sender)}
		}
		t.add(s, l.Timestamp)
	case firn.RoleSystem:
		t.add(step{Source: "system", Message: t.content(l.Message)}, l.Timestamp)
	case firn.RoleAssistant:
		t.add(t.answer(line, l), l.Timestamp)
	case firn.RoleToolResult:
		t.result(line, l)
	}
}

// usage are the members of an answer that are not displayed elsewhere.
type usage struct {
	Message struct {
		Provider string `json:"provider"`
		Model    string `json:"model"`
		Call     string `json:"toolCallId"`
		Usage    *struct {
			Input      int64 `json:"input"`
			Output     int64 `json:"output"`
			CacheRead  int64 `json:"cacheRead"`
			CacheWrite int64 `json:"cacheWrite"`
			Cost       struct {
				Total float64 `json:"total"`
			} `json:"cost"`
		} `json:"usage"`
		Content []struct {
			ID string `json:"id"`
		} `json:"content"`
	} `json:"message"`
}

// answer returns the step of an answer.
func (t *Writer) answer(line json.RawMessage, l prose.Line) step {
	var u usage
	_ = json.Unmarshal(line, &u) // invalid members are left empty
	s := step{Source: "agent", Message: t.content(l.Message)}
	if u.Message.Model != "" {
		s.Model = strings.TrimPrefix(u.Message.Provider+"/"+u.Message.Model, "/")
	}
	var thoughts []string
	for i, p := range l.Message.Pieces() {
		switch p.Type {
		case "thinking":
			thoughts = append(thoughts, p.Thinking)
		case "toolCall":
			s.Calls = append(s.Calls, call{ID: idAt(u, i), Name: p.Name, Arguments: t.object(p.Arguments)})
		}
	}
	s.Reasoning = t.text(strings.Join(thoughts, "\n"))
	if n := u.Message.Usage; n != nil {
		s.Metrics = &metrics{Prompt: n.Input + n.CacheRead + n.CacheWrite, Completion: n.Output, Cached: n.CacheRead}
		if n.Cost.Total > 0 {
			s.Metrics.Cost = &n.Cost.Total
		}
		t.sum.Prompt, t.sum.Completion = t.sum.Prompt+s.Metrics.Prompt, t.sum.Completion+n.Output
		t.sum.Cached, t.sum.Cost = t.sum.Cached+n.CacheRead, t.sum.Cost+n.Cost.Total
	}
	if l.Message.Error != "" {
		s.Extra = map[string]string{"error": t.text(l.Message.Error)}
	}
	return s
}

// idAt returns the ID of a part of an answer.
func idAt(u usage, i int) string {
	if i < len(u.Message.Content) {
		return u.Message.Content[i].ID
	}
	return ""
}

// result adds the result of a call to the step with the call. A result whose call is not in
// the last step becomes a step of its own.
func (t *Writer) result(line json.RawMessage, l prose.Line) {
	var u usage
	_ = json.Unmarshal(line, &u) // invalid members are left empty
	r := result{Call: u.Message.Call, Content: t.content(l.Message)}
	at := slices.Index(t.open, r.Call)
	if at < 0 {
		t.add(step{Source: "system", Observation: &observation{Results: []result{{Content: r.Content}}}}, l.Timestamp)
		return
	}
	t.open = slices.Delete(t.open, at, at+1)
	if t.last.Observation == nil {
		t.last.Observation = &observation{}
	}
	t.last.Observation.Results = append(t.last.Observation.Results, r)
}

// content returns the text of a message. Images are named: the format only refers to files.
func (t *Writer) content(m *prose.Message) string {
	var texts []string
	for _, p := range m.Pieces() {
		switch p.Type {
		case "text":
			texts = append(texts, p.Text)
		case "image":
			texts = append(texts, "[image "+p.MimeType+"]")
		}
	}
	return t.text(strings.Join(texts, "\n"))
}

// text returns a text, masked if requested.
func (t *Writer) text(s string) string {
	if !t.o.Mask {
		return s
	}
	s, places := mask.Count(s)
	t.masked += places
	return s
}

// object returns the arguments of a call, masked if requested. The format needs an object.
func (t *Writer) object(raw json.RawMessage) json.RawMessage {
	if t.o.Mask {
		masked, places := mask.JSON(raw)
		raw = masked
		t.masked += places
	}
	var object map[string]json.RawMessage
	if json.Unmarshal(raw, &object) == nil && object != nil {
		return raw
	}
	return json.RawMessage(t.encode(map[string]string{"arguments": string(raw)}))
}

// add writes the last step and begins another.
func (t *Writer) add(s step, at time.Time) {
	t.flush()
	t.n++
	s.ID = t.n
	if !at.IsZero() {
		s.Time = at.UTC().Format(time.RFC3339Nano)
	}
	t.last, t.open = &s, nil
	for _, c := range s.Calls {
		t.open = append(t.open, c.ID)
	}
}

// flush writes the last step.
func (t *Writer) flush() {
	if t.last == nil {
		return
	}
	before := "\n"
	if t.n > 1 {
		before = ",\n"
	}
	t.printf("%s%s", before, t.encode(t.last))
	t.last = nil
}

// encode returns a value as JSON on one line.
func (t *Writer) encode(v any) string {
	var b bytes.Buffer
	e := json.NewEncoder(&b)
	e.SetEscapeHTML(false)
	if err := e.Encode(v); err != nil && t.err == nil {
		t.err = fmt.Errorf("encode a trajectory: %w", err)
	}
	return strings.TrimSuffix(b.String(), "\n")
}

// printf writes text. After the first error it does nothing.
func (t *Writer) printf(format string, args ...any) {
	if t.err == nil {
		_, t.err = fmt.Fprintf(t.w, format, args...)
	}
}
