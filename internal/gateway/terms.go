package gateway

import (
	"context"
	"encoding/json"
	"fmt"
	"strings"

	"firn.dev"
	"firn.dev/agent"
	"firn.dev/internal/gateway/view"
	"firn.dev/provider"
	"firn.dev/wire"
)

// checkTerms rejects a model or thinking level that the answering agent cannot use, so that
// the message is not stored. An empty name means the agent of the session.
func (g *core) checkTerms(ctx context.Context, id firn.ID, name string, t *wire.TurnOptions) (err error) {
	if t == nil || t.Model == "" && t.Thinking == "" {
		return nil
	}
	terms := termsOf(t)
	if t.Model != "" && (terms.Provider == "" || terms.Model == "") {
		return errModelName(t.Model)
	}
	if name == "" {
		if name, err = g.owner(ctx, id); err != nil {
			return err
		}
	}
	a, err := g.setup.Load().agent(name)
	if err != nil {
		return err
	}
	return a.Check(terms)
}

// errModelName rejects a model that is not of the form provider/model.
func errModelName(name string) error {
	return &wire.Problem{Kind: wire.Invalid, Message: fmt.Sprintf("invalid model %q: expected provider/model", view.Clip(name)), Hint: "to list models: firn status"}
}

// termsOf converts the terms of a turn.
func termsOf(t *wire.TurnOptions) agent.TurnOptions {
	if t == nil {
		return agent.TurnOptions{}
	}
	terms := agent.TurnOptions{Instructions: t.Instructions, Bare: t.Bare, NoTools: t.NoTools, MaxTokens: max(t.MaxTokens, 0), Thinking: provider.Thinking(t.Thinking)}
	terms.Provider, terms.Model, _ = strings.Cut(t.Model, "/")
	terms.Stop = t.Stop
	if f := t.Format; f != nil {
		terms.Format = &provider.Format{Name: f.Name, Description: f.Description, Schema: f.Schema, Strict: f.Strict}
	}
	for _, x := range t.Tools {
		schema := x.Schema
		if len(schema) == 0 {
			schema = json.RawMessage(`{"type":"object","properties":{}}`)
		}
		terms.Tools = append(terms.Tools, provider.Tool{Name: x.Name, Description: x.Description, Schema: schema})
	}
	return terms
}

// pending converts the calls that a turn left to the client.
func pending(calls []firn.ToolCall) []wire.Tool {
	var tools []wire.Tool
	for _, c := range calls {
		tools = append(tools, wire.Tool{Call: c.ID, Name: c.Name, Arguments: c.Arguments})
	}
	return tools
}
