package anthropic

import (
	"encoding/json"
	"fmt"
	"strconv"
	"strings"

	"firn.dev"
	"firn.dev/internal/base/rawjson"
	"firn.dev/provider"
	"firn.dev/window"
)

// settings holds the properties of a model that its requests depend on.
type settings struct {
	name       string
	spec       provider.Spec
	generation generation
	ttl        CacheTTL
}

// purpose is the endpoint that a request is encoded for.
type purpose int

const (
	answering purpose = iota
	counting
)

// encode encodes a request. It is pure: the same settings and request give the same bytes.
// The stable prefix of a conversation comes first (model, tools, system prompt, messages so
// far); everything that may change follows the messages.
func encode(s settings, req provider.Request, p purpose) ([]byte, error) {
	turns, plan := planRequest(s, req)
	if len(turns) == 0 {
		return nil, fmt.Errorf("no message to send: %w", firn.ErrInvalid)
	}
	e := encoder{mark: s.ttl.mark()}
	e.raw(`{"model":`).text(s.name)
	system := strings.TrimSpace(req.Window.System) != ""
	e.tools(req.Tools, !system)
	if system {
		e.raw(`,"system":[{"type":"text","text":`).text(req.Window.System)
		e.raw(e.mark).raw(`}]`)
	}
	e.raw(`,"messages":`).turns(turns)
	e.plan(s, plan, p)
	if p == answering {
		e.form(plan, req)
		e.raw(`,"stream":true`)
	}
	e.raw("}")
	return e.out, e.err
}

// planRequest decides which parts of a window are sent and with what parameters.
func planRequest(s settings, req provider.Request) ([]turn, plan) {
	items := req.Window.Items
	from := 0
	if s.generation.bound {
		// Injections differ between runs, so thinking of earlier runs was based on a
		// different prefix.
		if i := firstInjected(items); i < len(items) {
			from = i
		}
	}
	turns := layout(items, from)
	plan := planFor(s, req, canBudgetThinking(turns))
	if !plan.thinks() {
		// "When thinking is disabled, an `assistant` message in the final position
		// cannot contain `thinking`."
		turns = layout(items, len(items))
	}
	if s.ttl != CacheOff {
		markTurns(turns, items)
	}
	return turns, plan
}

// encoder accumulates the bytes of a request. The first failure is kept as its error.
type encoder struct {
	out  []byte
	mark string
	err  error
}

func (e *encoder) raw(s string) *encoder {
	e.out = append(e.out, s...)
	return e
}

func (e *encoder) text(s string) *encoder {
	e.out = rawjson.AppendString(e.out, s)
	return e
}

func (e *encoder) fail(format string, args ...any) {
	if e.err == nil {
		e.err = fmt.Errorf(format+": %w", append(args, firn.ErrInvalid)...)
	}
}

// object writes a JSON object unchanged.
func (e *encoder) object(what string, raw json.RawMessage) {
	err := rawjson.Valid(raw)
	if err == nil {
		e.out, err = rawjson.AppendValue(e.out, raw)
	}
	if err != nil {
		e.fail("the %s is not a JSON object (%v)", what, err)
	}
}

func (e *encoder) tools(tools []provider.Tool, mark bool) {
	for i, tool := range tools {
		e.raw(separator(i, `,"tools":[`)).raw(`{"name":`).text(tool.Name)
		if tool.Description != "" {
			e.raw(`,"description":`).text(tool.Description)
		}
		e.raw(`,"input_schema":`)
		if len(tool.Schema) == 0 {
			e.raw(`{"type":"object","properties":{}}`)
		} else {
			e.object("schema of tool "+tool.Name, tool.Schema)
		}
		if mark && i == len(tools)-1 {
			e.raw(e.mark)
		}
		e.raw("}")
	}
	if len(tools) > 0 {
		e.raw("]")
	}
}

func (e *encoder) turns(turns []turn) {
	e.raw("[")
	for i, t := range turns {
		e.raw(separator(i, "")).raw(`{"role":`).text(string(t.role)).raw(`,"content":[`)
		for j, b := range t.blocks {
			e.raw(separator(j, "")).block(b.part)
			if b.mark {
				e.raw(e.mark)
			}
			e.raw("}")
		}
		e.raw("]}")
	}
	e.raw("]")
}

// separator returns the text before element i: a comma, or the opening of the list.
func separator(i int, open string) string {
	if i == 0 {
		return open
	}
	return ","
}

// block writes a part without its closing brace.
func (e *encoder) block(part firn.Part) {
	switch b := part.(type) {
	case firn.Text:
		e.raw(`{"type":"text","text":`).text(b.Text)
	case firn.Image:
		e.raw(`{"type":"image","source":{"type":"base64","media_type":`).text(b.MimeType)
		e.raw(`,"data":`).text(b.Data).raw("}")
	case firn.Thinking:
		if b.Redacted {
			e.raw(`{"type":"redacted_thinking","data":`).text(b.Signature)
			return
		}
		e.raw(`{"type":"thinking","thinking":`).text(b.Text).raw(`,"signature":`).text(b.Signature)
	case firn.ToolCall:
		e.raw(`{"type":"tool_use","id":`).text(b.ID).raw(`,"name":`).text(b.Name).raw(`,"input":`)
		e.object("input of call "+b.ID, b.Arguments)
	case firn.ToolResult:
		e.result(b)
	case firn.OpaquePart:
		e.document(b)
	default:
		e.fail("a request has no place for a %T", part)
	}
}

// document writes a document, all but the brace that closes it.
func (e *encoder) document(b firn.OpaquePart) {
	doc, err := window.DocumentOf(b)
	if err != nil {
		e.fail("a request has no place for a part of type %q", firn.CutText(b.Type, 40))
		return
	}
	e.raw(`{"type":"document"`)
	if doc.Title != "" {
		e.raw(`,"title":`).text(doc.Title)
	}
	if doc.Data != "" {
		e.raw(`,"source":{"type":"base64","media_type":"application/pdf","data":`).text(doc.Data).raw("}")
		return
	}
	e.raw(`,"source":{"type":"text","media_type":"text/plain","data":`).text(doc.Text).raw("}")
}

func (e *encoder) result(b firn.ToolResult) {
	e.raw(`{"type":"tool_result","tool_use_id":`).text(b.CallID).raw(`,"content":[`)
	for i, part := range b.Content {
		switch part.(type) {
		case firn.Text, firn.Image, firn.OpaquePart:
			e.raw(separator(i, "")).block(part)
			e.raw("}")
		default:
			e.fail("the result of call %s has no place for a %T", b.CallID, part)
		}
	}
	e.raw("]")
	if b.IsError {
		e.raw(`,"is_error":true`)
	}
}

// plan writes the parameters of the answer. A request that only counts tokens has none.
func (e *encoder) plan(s settings, plan plan, p purpose) {
	if p == answering {
		e.raw(`,"max_tokens":`).raw(strconv.FormatInt(plan.maxTokens, 10))
	}
	switch {
	case plan.adaptive:
		e.raw(`,"thinking":{"type":"adaptive"`)
		if s.generation.silent {
			e.raw(`,"display":"summarized"`)
		}
		if s.generation.bound {
			e.raw(`,"block_binding":{"prefix_mismatch_behavior":"drop_block"}`)
		}
		e.raw("}")
	case plan.budget > 0:
		e.raw(`,"thinking":{"type":"enabled","budget_tokens":`).raw(strconv.FormatInt(plan.budget, 10)).raw("}")
	}
}
