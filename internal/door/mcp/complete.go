package mcp

import (
	"context"
	"slices"
	"strings"

	sdk "github.com/modelcontextprotocol/go-sdk/mcp"

	"firn.dev/client"
	"firn.dev/internal/render/prose"
	"firn.dev/wire"
)

// mostCompletions is the maximum number of values that the protocol allows.
const mostCompletions = 100

// completions are the arguments of prompts and templates, by reference. The value names
// what is completed; arguments with an empty value are free text.
var completions = map[string]map[string]string{
	"recent_sessions":   {},
	"summarize_session": {"session": "session", "focus": ""},
	"continue_session":  {"session": "session", "task": ""},
	"recall_topic":      {"topic": "", "agent": "agent", "key": "key"},
	sessionTemplate:     {"id": "session"},
	entryTemplate:       {"id": "session", "entry": "entry"},
	imageTemplate:       {"id": "session", "entry": "entry", "n": ""},
	noteTemplate:        {"scope": "scope", "name": "note", "agent": "agent", "key": "key", "project": ""},
}

// complete implements completion/complete.
func (d *toolServer) complete(ctx context.Context, req *sdk.CompleteRequest) (*sdk.CompleteResult, error) {
	ref, argument := req.Params.Ref, req.Params.Argument
	name := ref.Name
	if ref.Type == "ref/resource" {
		name = ref.URI
	}
	arguments, ok := completions[name]
	if !ok {
		return nil, invalidParams("there is no prompt or resource template " + prose.OneLine(name, 200))
	}
	what, ok := arguments[argument.Name]
	if !ok {
		return nil, invalidParams(prose.OneLine(name, 200) + " has no argument " + prose.OneLine(argument.Name, 80))
	}
	var known map[string]string
	if req.Params.Context != nil {
		known = req.Params.Context.Arguments
	}
	values, more, err := d.candidates(ctx, what, argument.Value, known)
	if unlessAbsent(err) != nil {
		return nil, failure(err)
	}
	if len(values) > mostCompletions {
		values, more = values[:mostCompletions], true
	}
	return &sdk.CompleteResult{Completion: sdk.CompletionResultDetails{Values: append([]string{}, values...), HasMore: more}}, nil
}

// candidates returns the values that complete a prefix, and whether there are more. known
// has the other arguments, as far as the client knows them.
func (d *toolServer) candidates(ctx context.Context, what, prefix string, known map[string]string) (values []string, more bool, err error) {
	switch what {
	case "session":
		return d.sessionCandidates(ctx, prefix)
	case "entry":
		values, err = d.entryCandidates(ctx, prefix, known["id"])
	case "note":
		values, err = d.noteCandidates(ctx, prefix, known)
	case "scope":
		values = beginning([]string{wire.MemoryOfAgent, wire.MemoryOfUser, wire.MemoryOfProject}, prefix)
	case "agent":
		values, err = d.agentCandidates(ctx, prefix)
	case "key":
		values, more, err = d.keyCandidates(ctx, prefix)
	}
	return values, more, err
}

// beginning returns the values that begin with a prefix.
func beginning(values []string, prefix string) []string {
	return slices.DeleteFunc(slices.Clone(values), func(v string) bool { return !strings.HasPrefix(v, prefix) })
}

// sessionCandidates returns keys if the prefix begins with @, and otherwise the IDs of
// sessions that begin with it, or have it in their title, first message or key.
func (d *toolServer) sessionCandidates(ctx context.Context, prefix string) ([]string, bool, error) {
	if key, ok := strings.CutPrefix(prefix, "@"); ok {
		keys, more, err := d.keyCandidates(ctx, key)
		for i := range keys {
			keys[i] = "@" + keys[i]
		}
		return keys, more, err
	}
	var ids []string
	latest, err := d.c.SessionsPage(ctx, client.Query{Limit: resourcePage})
	if err != nil {
		return nil, false, err
	}
	for _, s := range latest.Items {
		if strings.HasPrefix(string(s.ID), prefix) {
			ids = append(ids, string(s.ID))
		}
	}
	if prefix == "" {
		return ids, latest.Cursor != "", nil
	}
	if len(ids) == 0 && latest.Cursor != "" {
		// An older session is found if no other ID begins so.
		if id, err := d.c.Resolve(ctx, prefix); err == nil && strings.HasPrefix(string(id), prefix) {
			ids = append(ids, string(id))
		}
	}
	found, err := d.c.SessionsPage(ctx, client.Query{Text: prefix, Limit: resourcePage})
	for _, s := range found.Items {
		if !slices.Contains(ids, string(s.ID)) {
			ids = append(ids, string(s.ID))
		}
	}
	return ids, latest.Cursor != "" || found.Cursor != "", err
}

// keyCandidates returns the keys that begin with a prefix.
func (d *toolServer) keyCandidates(ctx context.Context, prefix string) ([]string, bool, error) {
	page, err := d.c.Keys.Page(ctx, "", 1000, "")
	var keys []string
	for _, k := range page.Items {
		keys = append(keys, k.Key)
	}
	return beginning(keys, prefix), page.Cursor != "", err
}

// entryCandidates returns the IDs of entries on the current branch of a session, latest
// first. Without the session there are none.
func (d *toolServer) entryCandidates(ctx context.Context, prefix, session string) ([]string, error) {
	if session == "" {
		return nil, nil
	}
	id, err := d.c.Resolve(ctx, session)
	if err != nil {
		return nil, err
	}
	r := excerpt{c: d.c, id: id, view: wire.ViewBranch}
	var ids []string
	for e, err := range r.back(ctx, mostLooked) {
		if err != nil {
			return nil, err
		}
		if line, ok := prose.ReadLine(e.Line); ok && line.ID != "" && strings.HasPrefix(string(line.ID), prefix) {
			ids = append(ids, string(line.ID))
		}
		if len(ids) > mostCompletions {
			break
		}
	}
	return ids, nil
}

// noteCandidates returns the names of notes.
func (d *toolServer) noteCandidates(ctx context.Context, prefix string, known map[string]string) ([]string, error) {
	notes, err := d.c.Memory.Notes(ctx, wire.MemoryPlace{Agent: known["agent"], Key: known["key"], Project: known["project"], Scope: known["scope"]})
	var names []string
	for _, n := range notes {
		names = append(names, n.Name)
	}
	return beginning(names, prefix), err
}

// agentCandidates returns the names of agents.
func (d *toolServer) agentCandidates(ctx context.Context, prefix string) ([]string, error) {
	agents, err := d.c.Agents(ctx)
	var names []string
	for _, a := range agents {
		names = append(names, a.ID)
	}
	return beginning(names, prefix), err
}
