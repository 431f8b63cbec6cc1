package gateway

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"

	"firn.dev"
	"firn.dev/agent"
	"firn.dev/provider"
	"firn.dev/tool"
	"firn.dev/window"
	"firn.dev/wire"
)

// clientTool is a tool that a client runs.
type clientTool struct {
	lease *toolLease
	spec  provider.Tool
	reads bool
}

// Spec implements [tool.Tool].
func (t clientTool) Spec() provider.Tool { return t.spec }

// ReadOnly implements [tool.ReadOnly].
func (t clientTool) ReadOnly() bool { return t.reads }

// Run implements [tool.Tool].
func (t clientTool) Run(ctx context.Context, arguments json.RawMessage) (tool.Result, error) {
	r, err := t.send(ctx, arguments, false)
	if err != nil {
		return tool.Result{}, err
	}
	for _, f := range r.Files {
		agent.AddFileChanges(ctx, agent.FileChange{Path: f.Path, Before: f.Before, After: f.After})
	}
	out := tool.Result{Details: r.Details, IsError: r.IsError}
	if text, _ := firn.CleanText(r.Text); text != "" {
		out.Parts = append(out.Parts, firn.Text{Text: text})
	}
	for _, i := range r.Images {
		out.Parts = append(out.Parts, firn.Image{MimeType: i.MimeType, Data: i.Data})
	}
	if r.Error != "" {
		return out, errors.New(r.Error)
	}
	return out, nil
}

// send sends a call, or a request for its preview, to the client.
func (t clientTool) send(ctx context.Context, arguments json.RawMessage, preview bool) (wire.ClientResult, error) {
	call, ok := agent.CallOf(ctx)
	if !ok {
		return wire.ClientResult{}, fmt.Errorf("the tool %s runs only in a turn: %w", t.spec.Name, firn.ErrUnsupported)
	}
	call.Arguments = arguments
	return t.lease.run(ctx, wire.ClientCall{
		Call: call.ID, Entry: call.Answer, Name: call.Name, Arguments: arguments, Digest: digestOf(call.ToolCall), Preview: preview, Outside: tool.Outside(ctx),
	}, func(text string) { tool.Progress(ctx, text) })
}

// previewedClientTool is a client's tool with previews.
type previewedClientTool struct{ clientTool }

// Preview implements [tool.Previewer].
func (t previewedClientTool) Preview(ctx context.Context, arguments json.RawMessage) (string, error) {
	r, err := t.send(ctx, arguments, true)
	if err == nil && r.Error != "" {
		err = errors.New(r.Error)
	}
	return r.Text, err
}

// workplaceOf returns the workplace of an agent's turn for a batch. It is nil if the turn uses
// the agent's own workspace. A message whose client is gone has a workplace without tools.
func (l *lane) workplaceOf(a *agent.Agent, batch []*ticket) *agent.Workplace {
	last := batch[len(batch)-1]
	lease := last.lease()
	if lease == nil {
		if l.g.setup.Load().Terminal {
			return &agent.Workplace{Directory: a.Workspace, Added: true, Terminal: true}
		}
		if !last.ClientTools {
			return nil
		}
		return &agent.Workplace{}
	}
	w := &agent.Workplace{Directory: lease.offer.Directory, Added: lease.offer.Added}
	if !w.Added {
		w.Injected = append(w.Injected, agent.Environment(lease.offer.Directory, l.g.now()))
		w.Injected = append(w.Injected, agent.Instructions(lease.offer.Instructions)...)
	}
	for _, t := range lease.offer.Tools {
		schema := t.Schema
		if len(schema) == 0 {
			schema = json.RawMessage(`{"type":"object","properties":{}}`)
		}
		x := clientTool{lease, provider.Tool{Name: t.Name, Description: t.Description, Schema: schema}, t.ReadOnly}
		if t.Preview {
			w.Tools = append(w.Tools, previewedClientTool{x})
		} else {
			w.Tools = append(w.Tools, x)
		}
	}
	return w
}

// needsClientTools reports whether the last message of a path was sent with tools of its
// client, which this gateway does not have.
func (s *Setup) needsClientTools(p window.Path) bool {
	e, ok := lastMessage(p)
	return ok && !s.Terminal && string(e.Extra.Get(clientToolsField)) == "true"
}
