package agent

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"time"

	"firn"
	"firn/store"
	"firn/tool"
)

// SessionTools are the tools with which an agent looks at other sessions of
// its own and talks to them: sessions_list, sessions_history, sessions_send
// and sessions_spawn. Sessions of other agents are out of their reach. Add
// them to Tools before the first turn.
func (a *Agent) SessionTools() []tool.Tool {
	return []tool.Tool{
		tool.New("sessions_list", "List your conversations, the latest first.", a.listSessions),
		tool.New("sessions_history", "Read the latest messages of one of your other conversations.", a.sessionHistory),
		tool.New("sessions_send", "Say something in one of your other conversations and get the answer given there.", a.sendSession),
		tool.New("sessions_spawn", "Give a task to a new conversation of its own, and get its result.", a.spawnSession),
	}
}

// maxDepth is how deep sessions may send and spawn: a conversation that asks
// another that asks another.
const maxDepth = 3

// Limits of what the tools tell.
const (
	listMost    = 50
	historyMost = 100
	historyLen  = 2000
)

type sessionKey struct{}

// place is the session a context belongs to, and how deep it was spawned.
type place struct {
	id    firn.ID
	depth int
	// above are the sessions whose calls led here.
	above []firn.ID
}

// withSession marks a context with the session a turn runs in.
func withSession(ctx context.Context, id firn.ID) context.Context {
	p, ok := ctx.Value(sessionKey{}).(place)
	if !ok {
		return context.WithValue(ctx, sessionKey{}, place{id: id})
	}
	above := append(append([]firn.ID(nil), p.above...), p.id)
	return context.WithValue(ctx, sessionKey{}, place{id: id, depth: p.depth + 1, above: above})
}

// SessionOf returns the session whose turn a context belongs to, for tools
// that want to know.
func SessionOf(ctx context.Context) (firn.ID, bool) {
	p, ok := ctx.Value(sessionKey{}).(place)
	return p.id, ok
}

type listArgs struct {
	Limit  int `json:"limit,omitempty" desc:"how many at most (default 20)"`
	Active int `json:"active_minutes,omitempty" desc:"only those with an entry in the last so many minutes"`
}

func (a *Agent) listSessions(ctx context.Context, args listArgs) (tool.Result, error) {
	limit := bounded(args.Limit, 20, listMost)
	own, _ := SessionOf(ctx)
	now := a.now()
	var b strings.Builder
	n := 0
	for info, err := range a.Store.List(ctx, store.Query{Agent: a.name()}) {
		if err != nil {
			return tool.Result{}, fmt.Errorf("list sessions: %w", err)
		}
		if args.Active > 0 && now.Sub(info.Updated) > time.Duration(args.Active)*time.Minute {
			break // the latest come first
		}
		if n == limit {
			b.WriteString("(there are more)\n")
			break
		}
		n++
		title := info.Title
		if title == "" {
			title = info.Prompt
		}
		fmt.Fprintf(&b, "%s  %s  %s", info.ID, info.Updated.UTC().Format(time.RFC3339), oneLine(title))
		if info.ID == own {
			b.WriteString("  (this conversation)")
		}
		b.WriteByte('\n')
	}
	if n == 0 {
		return tool.TextResult("There are no sessions."), nil
	}
	return tool.TextResult(b.String()), nil
}

func bounded(n, standard, most int) int {
	if n <= 0 {
		return standard
	}
	return min(n, most)
}

type historyArgs struct {
	Session string `json:"session" desc:"the id of the session"`
	Limit   int    `json:"limit,omitempty" desc:"how many messages at most (default 20)"`
	Tools   bool   `json:"include_tools,omitempty" desc:"tool results as well"`
}

func (a *Agent) sessionHistory(ctx context.Context, args historyArgs) (tool.Result, error) {
	id, err := a.mine(ctx, args.Session)
	if err != nil {
		return tool.Result{}, err
	}
	limit := bounded(args.Limit, 20, historyMost)
	var lines []string
	for rec, err := range a.Store.ReadBack(ctx, id, store.End) {
		if err != nil {
			return tool.Result{}, fmt.Errorf("read session %s: %w", id, err)
		}
		if rec.Gap != nil || rec.Glance.Kind != firn.KindMessage {
			continue
		}
		entry, err := rec.Entry()
		if err != nil {
			continue
		}
		if line := historyLine(entry, args.Tools); line != "" {
			lines = append(lines, line)
		}
		if len(lines) == limit {
			break
		}
	}
	if len(lines) == 0 {
		return tool.TextResult("Nothing was said there yet."), nil
	}
	var b strings.Builder
	for i := len(lines) - 1; i >= 0; i-- {
		b.WriteString(lines[i])
	}
	return tool.TextResult(b.String()), nil
}

// historyLine tells a message in short; nothing if it has nothing to tell.
func historyLine(e firn.Entry, tools bool) string {
	m, ok := e.Body.(*firn.Message)
	if !ok {
		return ""
	}
	text := m.Text()
	if m.Role == firn.RoleToolResult && tools && len(m.Parts) == 1 {
		if r, ok := m.Parts[0].(firn.ToolResult); ok {
			text = r.Name + ": " + firn.JoinText(r.Content)
		}
	}
	if strings.TrimSpace(text) == "" {
		return ""
	}
	return fmt.Sprintf("[%s %s] %s\n", e.Time.UTC().Format(time.RFC3339), m.Role, firn.CutText(text, historyLen))
}

// mine returns the session that an id or a key names, if it is this agent's.
func (a *Agent) mine(ctx context.Context, name string) (firn.ID, error) {
	name = strings.TrimSpace(name)
	id := firn.ID(name)
	if keyed, ok := store.As[store.Keyed](a.Store); ok && strings.Contains(name, ":") {
		found, err := keyed.Lookup(ctx, name)
		if err != nil {
			return "", fmt.Errorf("find the session of key %s: %w", name, err)
		}
		id = found
	}
	header, err := a.header(ctx, id)
	if err != nil {
		return "", fmt.Errorf("find session %q: %w; sessions_list tells which there are", firn.CutText(name, 80), err)
	}
	if header.Agent != "" && header.Agent != a.name() || header.Agent == "" && a.name() != "main" {
		return "", fmt.Errorf("session %s belongs to another agent", id)
	}
	return id, nil
}

// header reads the header of a session.
func (a *Agent) header(ctx context.Context, id firn.ID) (firn.Header, error) {
	for rec, err := range a.Store.Read(ctx, id, store.Start) {
		if err != nil {
			return firn.Header{}, err
		}
		if entry, err := rec.Entry(); err == nil {
			if h, ok := entry.Body.(*firn.Header); ok {
				return *h, nil
			}
		}
		break // only the first
	}
	return firn.Header{}, nil
}

type sendArgs struct {
	Session string `json:"session" desc:"the id of the session"`
	Message string `json:"message" desc:"what to say there"`
	Timeout *int   `json:"timeout_seconds,omitempty" desc:"how long to wait for the answer (default 120); 0 does not wait"`
}

func (a *Agent) sendSession(ctx context.Context, args sendArgs) (tool.Result, error) {
	id, err := a.mine(ctx, args.Session)
	if err != nil {
		return tool.Result{}, err
	}
	here, _ := ctx.Value(sessionKey{}).(place)
	for _, above := range append(here.above, here.id) {
		if above == id {
			return tool.Result{}, fmt.Errorf("session %s waits for this one; it cannot be asked now", id)
		}
	}
	return a.delegate(ctx, id, Say(args.Message), args.Timeout)
}

type spawnArgs struct {
	Task    string `json:"task" desc:"what to do, with all that must be known for it"`
	Label   string `json:"label,omitempty" desc:"a short name for the new conversation"`
	Model   string `json:"model,omitempty" desc:"provider/model to use instead of the usual one"`
	Timeout *int   `json:"timeout_seconds,omitempty" desc:"how long to wait for the result (default 120); 0 does not wait"`
}

// spawnedType is the type of the entry that links a session to its child.
const spawnedType = "firn.spawned"

func (a *Agent) spawnSession(ctx context.Context, args spawnArgs) (tool.Result, error) {
	here, ok := ctx.Value(sessionKey{}).(place)
	if !ok || here.depth >= maxDepth {
		return tool.Result{}, fmt.Errorf("sessions can be spawned %d deep and no deeper; do the task here", maxDepth)
	}
	if strings.TrimSpace(args.Task) == "" {
		return tool.Result{}, errors.New("say what the task is")
	}
	child := firn.NewID()
	entries := []firn.Entry{{Body: &firn.Header{Session: child, Agent: a.name(), ParentSession: string(here.id)}}}
	if args.Label != "" {
		entries = append(entries, firn.NewEntry(&firn.Title{Name: firn.CutText(oneLine(args.Label), titleLen), Source: firn.SourceAuto}))
	}
	if args.Model != "" {
		providerName, model, _ := strings.Cut(args.Model, "/")
		more, err := a.overrides(Override{Provider: providerName, Model: model})
		if err != nil {
			return tool.Result{}, err
		}
		entries = append(entries, more...)
	}
	if _, err := a.Store.Append(ctx, child, store.Start, entries...); err != nil {
		return tool.Result{}, fmt.Errorf("begin a session: %w", err)
	}
	link := custom(spawnedType, map[string]string{"session": string(child), "task": firn.CutText(args.Task, historyLen), "label": args.Label})
	if _, err := a.Store.Append(ctx, here.id, store.Any, link); err != nil {
		return tool.Result{}, fmt.Errorf("link session %s to its child: %w", here.id, err)
	}
	return a.delegate(ctx, child, Say(args.Task), args.Timeout)
}

// delegate runs a turn of another session and waits for it as long as was
// asked for. Whether it is waited for or not, the turn goes on to its end.
func (a *Agent) delegate(ctx context.Context, id firn.ID, in Input, timeout *int) (tool.Result, error) {
	wait := 120 * time.Second
	if timeout != nil {
		wait = time.Duration(min(max(*timeout, 0), 3600)) * time.Second
	}
	type end struct {
		text string
		err  error
	}
	ended := make(chan end, 1)
	here := ctx.Value(sessionKey{})
	started := a.background.start(func(base context.Context) {
		text, err := a.answer(context.WithValue(base, sessionKey{}, here), id, in)
		ended <- end{text, err}
	})
	if !started {
		return tool.Result{}, fmt.Errorf("run a turn of session %s: %w", id, firn.ErrClosed)
	}
	if wait == 0 {
		return tool.TextResult(fmt.Sprintf("accepted: session %s is at it", id)), nil
	}
	timer := time.NewTimer(wait)
	defer timer.Stop()
	select {
	case e := <-ended:
		if e.err != nil {
			return tool.Result{}, fmt.Errorf("session %s: %w", id, e.err)
		}
		return tool.TextResult(fmt.Sprintf("session %s answered:\n%s", id, e.text)), nil
	case <-timer.C:
		return tool.TextResult(fmt.Sprintf("timeout: session %s is still at it; sessions_history tells later what came of it", id)), nil
	case <-ctx.Done():
		return tool.Result{}, context.Cause(ctx)
	}
}

// answer runs a turn and returns what was answered.
func (a *Agent) answer(ctx context.Context, id firn.ID, in Input) (string, error) {
	var out Outcome
	for event, err := range a.Run(ctx, id, in) {
		if err != nil {
			return "", err
		}
		if f, ok := event.(Finished); ok {
			out = f.Outcome
		}
	}
	if out.Silent {
		return "(nothing to say)", nil
	}
	return out.Text, nil
}
