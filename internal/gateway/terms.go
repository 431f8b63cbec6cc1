package gateway

import (
	"encoding/json"

	"firn.dev"
	"firn.dev/agent"
	"firn.dev/provider"
	"firn.dev/wire"
)

// termsOf converts the terms of a turn.
func termsOf(t *wire.TurnOptions) agent.TurnOptions {
	if t == nil {
		return agent.TurnOptions{}
	}
	terms := agent.TurnOptions{Instructions: t.Instructions, Bare: t.Bare, NoTools: t.NoTools, MaxTokens: max(t.MaxTokens, 0)}
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
