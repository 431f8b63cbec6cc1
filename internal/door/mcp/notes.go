package mcp

import (
	"context"
	"errors"
	"fmt"
	"strings"

	sdk "github.com/modelcontextprotocol/go-sdk/mcp"

	"firn.dev"
	"firn.dev/internal/render/prose"
	"firn.dev/wire"
)

// noteScope selects the notes to use.
type noteScope struct {
	Agent   string `json:"agent,omitempty" jsonschema:"the agent whose notes are meant; default: the default agent"`
	Key     string `json:"key,omitempty" jsonschema:"also those about the person or group of this key"`
	Project string `json:"project,omitempty" jsonschema:"also those about this directory, as an absolute path"`
	Scope   string `json:"scope,omitempty" jsonschema:"only those about the agent, the user or the project"`
}

func (w noteScope) place() wire.MemoryPlace {
	return wire.MemoryPlace{Agent: w.Agent, Key: w.Key, Project: w.Project, Scope: w.Scope}
}

type recallArgs struct {
	Query string `json:"query" jsonschema:"the words to search for"`
	Limit int    `json:"limit,omitempty" jsonschema:"maximum number of hits: default 5, at most 20"`
	noteScope
}

// recall searches notes and earlier messages.
func (d *toolServer) recall(ctx context.Context, _ *sdk.CallToolRequest, a recallArgs) (*sdk.CallToolResult, any, error) {
	if strings.TrimSpace(a.Query) == "" {
		return nil, nil, errors.New("query is empty")
	}
	hits, err := d.c.Memory.Recall(ctx, a.place(), a.Query, bounded(a.Limit, 5, 20))
	if err != nil {
		return nil, nil, sentence(err)
	}
	if len(hits) == 0 {
		return textResult(fmt.Sprintf("no results for %q\n", prose.OneLine(a.Query, 100))), nil, nil
	}
	var b strings.Builder
	for i, h := range hits {
		b.WriteString(recalledText(i+1, h))
	}
	return textResult(b.String()), nil, nil
}

// recalledText formats a hit as text: its origin and content.
func recalledText(n int, h wire.Recalled) string {
	about := []string{"from session " + h.Ref}
	if h.Scope != "" {
		about[0] = "note " + h.Ref
	}
	for _, more := range []string{prose.OneLine(h.Title, 80), prose.OneLine(h.Type, 40)} {
		if more != "" {
			about = append(about, more)
		}
	}
	if h.Confidence > 0 {
		about = append(about, fmt.Sprintf("%.0f%% confidence", h.Confidence*100))
	}
	if !h.Time.IsZero() {
		about = append(about, h.Time.Format("2006-01-02"))
	}
	if h.Scope != "" && len(h.Sources) > 0 {
		about = append(about, "from "+strings.Join(h.Sources, " and "))
	}
	text := strings.ReplaceAll(firn.CutText(h.Text, mostOfOne), "\n", "\n  ")
	return fmt.Sprintf("[%d] %s\n  %s\n", n, strings.Join(about, ", "), text)
}

type rememberArgs struct {
	Text string `json:"text" jsonschema:"the facts to remember, one per line, each understandable on its own; never passwords or keys"`
	Name string `json:"name,omitempty" jsonschema:"the name of a separate note, for longer text; an existing note of that name is replaced"`
	Type string `json:"type,omitempty" jsonschema:"the category: preference, project, pattern, decision or constraint"`
	noteScope
}

type remembered struct {
	Scope  string   `json:"scope"`
	Note   string   `json:"note"`
	Refs   []string `json:"refs" jsonschema:"the names of the new notes, for forget"`
	Known  int      `json:"known,omitempty" jsonschema:"number of facts that were already saved"`
	Change string   `json:"change,omitempty" jsonschema:"the ID of the change, which the user can undo"`
}

// remember stores a note.
func (d *toolServer) remember(ctx context.Context, _ *sdk.CallToolRequest, a rememberArgs) (*sdk.CallToolResult, remembered, error) {
	kept, err := d.c.Memory.Remember(ctx, a.place(), wire.NewNote{Text: a.Text, Name: a.Name, Type: a.Type})
	if err != nil {
		return nil, remembered{Refs: []string{}}, sentence(err)
	}
	d.changed()
	return nil, remembered{Scope: kept.Scope, Note: kept.Note, Refs: append([]string{}, kept.Refs...), Known: kept.Known, Change: kept.Change}, nil
}

type forgetArgs struct {
	What string `json:"what" jsonschema:"the note or fact: its name as recall shows it, such as agent/extracted#1a2b3c4d, or its exact words"`
	noteScope
}

// forget removes a note or fact. Users can undo it.
func (d *toolServer) forget(ctx context.Context, _ *sdk.CallToolRequest, a forgetArgs) (*sdk.CallToolResult, any, error) {
	if strings.TrimSpace(a.What) == "" {
		return nil, nil, errors.New("nothing to forget given; recall shows the names of notes")
	}
	change, err := d.c.Memory.Forget(ctx, a.place(), strings.TrimPrefix(a.What, "note "))
	if err != nil {
		return nil, nil, sentence(err)
	}
	d.changed()
	return textResult(fmt.Sprintf("forgotten; to undo: firn memory undo %s\n", change.ID)), nil, nil
}
