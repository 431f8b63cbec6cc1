package agent

import (
	"cmp"
	"context"
	"encoding/json"
	"slices"
	"strings"

	"firn.dev"
	"firn.dev/provider"
	"firn.dev/window"
)

// Flush configures the turn that lets the agent write notes before a compaction: one silent
// turn for each, which the user does not see. The zero value enables it if there is a tool
// for notes.
type Flush struct {
	Off bool
	// Soft is the distance to the compaction limit, in tokens, at which it happens; zero
	// means 4,000.
	Soft int64
	// System and Prompt are the prompts; empty means the defaults. An explanation of
	// [NoReply] is added if they do not mention it.
	System, Prompt string
	// Tools are the names of the tools that may be used; nil means remember. If none of
	// them exists, as in a read-only workspace, there is no flush.
	Tools []string
}

// flushType is the type of the entry that records a flush.
const flushType = "firn.memory-flush"

type flushMark struct {
	// Compactions is the number of compactions before the flush: one flush for each.
	Compactions int    `json:"compactions"`
	Notes       int    `json:"notes"`
	Error       string `json:"error,omitempty"`
}

const (
	flushPrompt = "The conversation will soon be shortened to a summary. Write down now, with the tools you have, " +
		"what should be remembered for good: facts about the user, decisions, preferences, open tasks. Write nothing that is noted already."
	flushSystem = "This is a pause for your notes, before older parts of the conversation are summarized. The user does not see it."
	flushReply  = "If no user-visible reply is needed, start with " + NoReply + "."
	// flushRounds is the maximum number of model calls in a flush.
	flushRounds = 4
)

// flush lets the agent take notes if a compaction is near and it has not done so since the
// last one. A failure is recorded and does not stop the turn.
func (t fitter) flush(tokens int64) error {
	specs := t.flushTools()
	if t.a.Flush.Off || len(specs) == 0 || tokens <= t.flushAt() || flushed(t.path) {
		return nil
	}
	s := &sideConversation{turn: t.turn, specs: specs, path: t.flushPath()}
	failure := s.run()
	if cause := context.Cause(t.ctx); cause != nil {
		if len(s.usage) > 0 { // the calls have been paid for
			ctx, cancel := cleanupContext(t.ctx)
			defer cancel()
			return cmp.Or(t.log.append(ctx, s.usage...), cause)
		}
		return cause
	}
	mark := flushMark{Compactions: t.path.Compactions(), Notes: s.wrote}
	if failure != nil {
		mark.Error = failure.Error()
	}
	entries := append(s.usage, customEntry(flushType, mark))
	if err := t.log.append(t.ctx, entries...); err != nil {
		return err
	}
	t.emit(Flushed{Notes: s.wrote, Err: failure})
	return t.refreshPath()
}

// flushAt returns the size above which notes are taken, slightly below the compaction
// limit. If the window is too small for that, it returns the size of the window.
func (t fitter) flushAt() int64 {
	soft := t.a.Flush.Soft
	if soft <= 0 {
		soft = 4000
	}
	at := t.a.Compaction.Limit(t.windowSize()) - soft
	if at <= 0 {
		return t.windowSize()
	}
	return at
}

// flushed reports whether notes were taken since the last compaction.
func flushed(p window.Path) bool {
	return slices.ContainsFunc(p.Entries, func(e firn.Entry) bool {
		c, ok := e.Body.(*firn.Custom)
		var mark flushMark
		return ok && c.Type == flushType && json.Unmarshal(c.Data, &mark) == nil && mark.Compactions == p.Compactions()
	})
}

// flushTools returns the tools for taking notes.
func (t fitter) flushTools() []provider.Tool {
	names := t.a.Flush.Tools
	if names == nil {
		names = []string{"remember"}
	}
	var specs []provider.Tool
	for _, s := range t.specs {
		if slices.Contains(names, s.Name) && t.tools[s.Name] != nil { // the caller's tools cannot be run here
			specs = append(specs, s)
		}
	}
	return specs
}

// flushPath returns the conversation with the request to take notes at its end.
func (t fitter) flushPath() window.Path {
	p := t.sourcePath()
	prompt := withNoReplyHint(t.a.Flush.Prompt, flushPrompt)
	p.Entries = append(slices.Clip(p.Entries), firn.UserText(prompt))
	return t.fitPath(p)
}

// withNoReplyHint appends an explanation of NoReply to a text that does not mention it.
func withNoReplyHint(text, standard string) string {
	if text == "" {
		text = standard
	}
	if strings.Contains(text, NoReply) {
		return text
	}
	return text + " " + flushReply
}

// sideConversation is a conversation outside the session. It is not stored; only the fact
// and its usage are.
type sideConversation struct {
	*turn
	specs []provider.Tool
	path  window.Path
	wrote int
	usage []firn.Entry
}

// run calls the model until it makes no more tool calls.
func (s *sideConversation) run() error {
	options := s.options()
	options.Injected = nil
	options.System = strings.TrimSpace(s.a.System + "\n\n" + withNoReplyHint(s.a.Flush.System, flushSystem))
	for range flushRounds {
		message, err := provider.Ask(s.ctx, guardedModel{s.model}, provider.Request{
			Window: window.Build(s.path, options), Tools: s.specs, Purpose: provider.ForFlush, Session: s.log.id,
		}, s.a.Backoff, nil)
		if err != nil {
			return err
		}
		if message.Usage != nil {
			s.addUsage(message.Usage)
			s.usage = append(s.usage, usageEntry(provider.ForFlush, s.info, *message.Usage))
		}
		s.path.Entries = append(s.path.Entries, firn.NewEntry(&message))
		calls := callsOf(&message)
		if len(calls) == 0 {
			return nil
		}
		for _, call := range calls {
			s.path.Entries = append(s.path.Entries, s.runCall(call))
		}
		if cause := context.Cause(s.ctx); cause != nil {
			return cause
		}
	}
	return nil
}

// runCall runs one call with the given tools only, and with the same hooks.
func (s *sideConversation) runCall(call firn.ToolCall) firn.Entry {
	if !slices.ContainsFunc(s.specs, func(t provider.Tool) bool { return t.Name == call.Name }) {
		call.Name = "none of " + call.Name // a name that matches no tool
	}
	ran := (turnCalls{s.turn}).runAll([]firn.ToolCall{call})
	defer ran.end()
	o := ran.wait(callReport.drop)
	if o.state == CallDone {
		s.wrote++
	}
	return firn.NewEntry(&firn.Message{Role: firn.RoleToolResult, Time: s.a.now(), Parts: []firn.Part{firn.ToolResult{
		CallID: call.ID, Name: call.Name, Content: o.result.Parts, IsError: o.state != CallDone,
	}}})
}
