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

// Flush gives the agent time to write down what it wants to keep before a
// compaction: one silent turn for each, that no user sees. The zero value does
// so if there is a tool to write with.
type Flush struct {
	Off bool
	// Soft is how many tokens before the limit of compaction it happens; zero
	// means 4,000.
	Soft int64
	// System and Prompt are what the agent is told; empty means our own words.
	// [NoReply] is explained to it if they do not name it.
	System, Prompt string
	// Tools are the names of the tools it may use; nil means remember. If
	// none of them is there, as in a workspace that is only read, there is no
	// flush.
	Tools []string
}

// flushType is the type of the entry that says that there was a flush.
const flushType = "firn.memory-flush"

type flushMark struct {
	// Compactions is how many there had been: one flush for each.
	Compactions int    `json:"compactions"`
	Notes       int    `json:"notes"`
	Error       string `json:"error,omitempty"`
}

const (
	flushPrompt = "The conversation will soon be shortened to a summary. Write down now, with the tools you have, " +
		"what should be remembered for good: facts about the user, decisions, preferences, open tasks. Write nothing that is noted already."
	flushSystem = "This is a pause for your notes, before older parts of the conversation are summarised. The user does not see it."
	flushReply  = "If no user-visible reply is needed, start with " + NoReply + "."
	// flushRounds bounds how often the model is asked in a flush.
	flushRounds = 4
)

// flush lets the agent take notes if a compaction is near and it has not done
// so since the last one. That it failed is recorded and does not stop the turn.
func (t *turn) flush(tokens int64) error {
	specs := t.flushTools()
	if t.a.Flush.Off || len(specs) == 0 || tokens <= t.flushAt() || flushed(t.path) {
		return nil
	}
	s := &side{turn: t, specs: specs, path: t.flushPath()}
	failure := s.run()
	if cause := context.Cause(t.ctx); cause != nil {
		if len(s.usage) > 0 { // it was paid for
			ctx, cancel := afterwards(t.ctx)
			defer cancel()
			return cmp.Or(t.log.append(ctx, s.usage...), cause)
		}
		return cause
	}
	mark := flushMark{Compactions: t.path.Compactions(), Notes: s.wrote}
	if failure != nil {
		mark.Error = failure.Error()
	}
	entries := append(s.usage, custom(flushType, mark))
	if err := t.log.append(t.ctx, entries...); err != nil {
		return err
	}
	t.emit(Flushed{Notes: s.wrote, Err: failure})
	return t.collect()
}

// flushAt is the size above which notes are taken: a little before a
// compaction is due. A window too small for that has none.
func (t *turn) flushAt() int64 {
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

// flushTools are the tools that notes are taken with.
func (t *turn) flushTools() []provider.Tool {
	names := t.a.Flush.Tools
	if names == nil {
		names = []string{"remember"}
	}
	var specs []provider.Tool
	for _, s := range t.specs {
		if slices.Contains(names, s.Name) && t.tools[s.Name] != nil { // the caller's cannot be run
			specs = append(specs, s)
		}
	}
	return specs
}

// flushPath is the conversation with the request to take notes at its end.
func (t *turn) flushPath() window.Path {
	p := t.source()
	prompt := naming(t.a.Flush.Prompt, flushPrompt)
	p.Entries = append(slices.Clip(p.Entries), firn.UserText(prompt))
	return t.fitted(p)
}

// naming returns a text that explains silence.
func naming(text, standard string) string {
	if text == "" {
		text = standard
	}
	if strings.Contains(text, NoReply) {
		return text
	}
	return text + " " + flushReply
}

// side is a conversation beside the turn, which is not stored: only that it
// was, and what it cost.
type side struct {
	*turn
	specs []provider.Tool
	path  window.Path
	wrote int
	usage []firn.Entry
}

// run asks until the model calls no more tools.
func (s *side) run() error {
	options := s.options()
	options.Injected = nil
	options.System = strings.TrimSpace(s.a.System + "\n\n" + naming(s.a.Flush.System, flushSystem))
	for range flushRounds {
		message, err := provider.Ask(s.ctx, steady{s.model}, provider.Request{
			Window: window.Build(s.path, options), Tools: s.specs, Purpose: provider.ForFlush, Session: s.log.id,
		}, s.a.Backoff, nil)
		if err != nil {
			return err
		}
		if message.Usage != nil {
			s.spent(message.Usage)
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

// runCall runs one call of a side conversation: only with the tools it was
// given, and under the same hooks.
func (s *side) runCall(call firn.ToolCall) firn.Entry {
	if !slices.ContainsFunc(s.specs, func(t provider.Tool) bool { return t.Name == call.Name }) {
		call.Name = "none of " + call.Name // there is no such tool here
	}
	ran := s.runAll([]firn.ToolCall{call})
	defer ran.end()
	o := ran.wait(func(int) {})
	if o.state == CallDone {
		s.wrote++
	}
	return firn.NewEntry(&firn.Message{Role: firn.RoleToolResult, Time: s.a.now(), Parts: []firn.Part{firn.ToolResult{
		CallID: call.ID, Name: call.Name, Content: o.result.Parts, IsError: o.state != CallDone,
	}}})
}
