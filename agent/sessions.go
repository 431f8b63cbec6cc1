package agent

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"sync"
	"time"

	"firn"
	"firn/store"
	"firn/tool"
	"firn/window"
)

// SessionTools are the tools with which an agent looks at other sessions of
// its own and talks to them: sessions_list, sessions_history, sessions_send
// and sessions_spawn. Sessions of other agents are out of their reach. Add
// them to Tools before the first turn, once: those of one call see to it that
// what they ask of a session is answered one turn after the other.
func (a *Agent) SessionTools() []tool.Tool {
	s := &sessions{Agent: a}
	return []tool.Tool{
		tool.New("sessions_list", "List your conversations, the latest first.", s.list),
		tool.New("sessions_history", "Read the latest messages of one of your other conversations.", s.history),
		tool.New("sessions_send", "Say something in one of your other conversations and get the answer given there.", s.send),
		tool.New("sessions_spawn", "Give a task to a new conversation of its own, and get its result.", s.spawn),
	}
}

// sessions are an agent's, as its session tools see them.
type sessions struct {
	*Agent
	lanes lanes
}

// maxDepth is how deep sessions may send and spawn: a conversation that asks
// another that asks another.
const maxDepth = 3

// Limits of what the tools tell.
const (
	listMost    = 50
	historyMost = 100
	historyLen  = 2000
	// historyBack is behind how many compactions the history is looked for.
	historyBack = 20
	// nameLen bounds what an error repeats of a name that makes no sense.
	nameLen = 80
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

// asking returns the session whose turn wants to ask another one, if it is not
// too deep for that.
func asking(ctx context.Context) (place, error) {
	here, ok := ctx.Value(sessionKey{}).(place)
	if !ok {
		return place{}, fmt.Errorf("only a turn of a session can ask other sessions: %w", firn.ErrInvalid)
	}
	if here.depth >= maxDepth {
		return place{}, fmt.Errorf("sessions can ask one another %d deep and no deeper; do the task here: %w", maxDepth, firn.ErrTooLarge)
	}
	return here, nil
}

type listArgs struct {
	Limit  int `json:"limit,omitempty" desc:"how many at most (default 20)"`
	Active int `json:"active_minutes,omitempty" desc:"only those with an entry in the last so many minutes"`
}

func (s *sessions) list(ctx context.Context, args listArgs) (tool.Result, error) {
	limit := bounded(args.Limit, 20, listMost)
	own, _ := SessionOf(ctx)
	now := s.now()
	var b strings.Builder
	n := 0
	for info, err := range s.Store.List(ctx, store.Query{Agent: s.name()}) {
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

func (s *sessions) history(ctx context.Context, args historyArgs) (tool.Result, error) {
	id, path, err := s.mine(ctx, args.Session)
	if err != nil {
		return tool.Result{}, err
	}
	lines, err := s.told(ctx, id, path, args)
	if err != nil {
		return tool.Result{}, fmt.Errorf("read session %s: %w", id, err)
	}
	if len(lines) == 0 {
		return tool.TextResult("Nothing was said there yet."), nil
	}
	slices.Reverse(lines)
	return tool.TextResult(strings.Join(lines, "")), nil
}

// told returns the last messages of the branch that a session is on, the
// latest first, given its live part. What was compacted away is told as well,
// what was hidden is not.
func (s *sessions) told(ctx context.Context, id firn.ID, path window.Path, args historyArgs) ([]string, error) {
	limit, end := bounded(args.Limit, 20, historyMost), path.End
	var lines []string
	for range historyBack {
		for _, e := range slices.Backward(path.Entries) {
			if line := historyLine(e, args.Tools); line != "" {
				lines = append(lines, line)
			}
			if len(lines) == limit {
				return lines, nil
			}
		}
		if path.Compaction == nil || path.Entries[0].Parent == "" {
			break
		}
		// From the end again: what hides an older message may stand anywhere
		// behind it.
		older, err := window.CollectFrom(s.Store.ReadBack(ctx, id, end), path.Entries[0].Parent)
		if errors.Is(err, firn.ErrNotFound) {
			break // a log at fault: the branch cannot be followed further
		}
		if err != nil {
			return nil, err
		}
		path = older
	}
	return lines, nil
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

// mine returns the session that an id or a key names, with its live part, if
// it is this agent's and nobody has hidden it.
func (s *sessions) mine(ctx context.Context, name string) (firn.ID, window.Path, error) {
	name = strings.TrimSpace(name)
	id, err := s.find(ctx, name)
	if err != nil {
		return "", window.Path{}, fmt.Errorf("find session %q: %w; sessions_list tells which there are", firn.CutText(name, nameLen), err)
	}
	own, err := s.owns(ctx, id)
	if err != nil {
		return "", window.Path{}, fmt.Errorf("find session %q: %w; sessions_list tells which there are", id, err)
	}
	if !own {
		return "", window.Path{}, fmt.Errorf("session %s belongs to another agent", id)
	}
	path, err := window.Collect(s.Store.ReadBack(ctx, id, store.End))
	if err != nil {
		return "", window.Path{}, fmt.Errorf("read session %s: %w", id, err)
	}
	if path.Hides(firn.EntryID(id)) {
		return "", window.Path{}, fmt.Errorf("session %s was hidden", id)
	}
	return id, path, nil
}

// find returns the id that a name stands for: a key's session, or itself.
func (s *sessions) find(ctx context.Context, name string) (firn.ID, error) {
	if keyed, ok := store.As[store.Keyed](s.Store); ok && strings.Contains(name, ":") {
		return keyed.Lookup(ctx, name)
	}
	if firn.ID(name).Check() != nil { // whose words repeat all of it
		return "", fmt.Errorf("that cannot be the id of a session: %w", firn.ErrInvalid)
	}
	return firn.ID(name), nil
}

// owns reports whether a session is this agent's. The header says so; of one
// that others wrote, which does not, the store knows where it found it.
func (s *sessions) owns(ctx context.Context, id firn.ID) (bool, error) {
	header, err := s.header(ctx, id)
	if err != nil || header.Agent != "" {
		return header.Agent == s.name(), err
	}
	for _, archived := range []bool{false, true} {
		for info, err := range s.Store.List(ctx, store.Query{Agent: s.name(), Archived: archived}) {
			if err != nil || info.ID == id {
				return err == nil, err
			}
		}
	}
	return false, nil
}

// header reads the header of a session: its first record, but for gaps. One
// without a header has an empty one.
func (a *Agent) header(ctx context.Context, id firn.ID) (firn.Header, error) {
	for rec, err := range a.Store.Read(ctx, id, store.Start) {
		if err != nil {
			return firn.Header{}, err
		}
		if rec.Gap != nil {
			continue
		}
		if entry, err := rec.Entry(); err == nil {
			if h, ok := entry.Body.(*firn.Header); ok {
				return *h, nil
			}
		}
		break
	}
	return firn.Header{}, nil
}

type sendArgs struct {
	Session string `json:"session" desc:"the id of the session"`
	Message string `json:"message" desc:"what to say there"`
	Timeout *int   `json:"timeout_seconds,omitempty" desc:"how long to wait for the answer (default 120); 0 does not wait"`
}

func (s *sessions) send(ctx context.Context, args sendArgs) (tool.Result, error) {
	here, err := asking(ctx)
	if err != nil {
		return tool.Result{}, err
	}
	if strings.TrimSpace(args.Message) == "" {
		return tool.Result{}, errors.New("say what the message is")
	}
	id, _, err := s.mine(ctx, args.Session)
	if err != nil {
		return tool.Result{}, err
	}
	if id == here.id || slices.Contains(here.above, id) {
		return tool.Result{}, waitsForThis(id)
	}
	return s.delegate(ctx, here, id, args.Message, args.Timeout)
}

// waitsForThis is why a session cannot be asked.
func waitsForThis(id firn.ID) error {
	return fmt.Errorf("session %s waits for this one; it cannot be asked now: %w", id, firn.ErrLocked)
}

type spawnArgs struct {
	Task    string `json:"task" desc:"what to do, with all that must be known for it"`
	Label   string `json:"label,omitempty" desc:"a short name for the new conversation"`
	Model   string `json:"model,omitempty" desc:"provider/model to use instead of the usual one"`
	Timeout *int   `json:"timeout_seconds,omitempty" desc:"how long to wait for the result (default 120); 0 does not wait"`
}

// spawnedType is the type of the entry that links a session to its child.
const spawnedType = "firn.spawned"

func (s *sessions) spawn(ctx context.Context, args spawnArgs) (tool.Result, error) {
	here, err := asking(ctx)
	if err != nil {
		return tool.Result{}, err
	}
	if strings.TrimSpace(args.Task) == "" {
		return tool.Result{}, errors.New("say what the task is")
	}
	child := firn.NewID()
	entries, err := s.newborn(child, here.id, args)
	if err != nil {
		return tool.Result{}, err
	}
	if _, err := s.Store.Append(ctx, child, store.Start, entries...); err != nil {
		return tool.Result{}, fmt.Errorf("begin a session: %w", err)
	}
	link := custom(spawnedType, map[string]string{"session": string(child), "task": firn.CutText(args.Task, historyLen), "label": args.Label})
	if _, err := s.Store.Append(ctx, here.id, store.Any, link); err != nil {
		return tool.Result{}, fmt.Errorf("link session %s to its child: %w", here.id, err)
	}
	return s.delegate(ctx, here, child, args.Task, args.Timeout)
}

// newborn makes the entries that a spawned session begins with.
func (s *sessions) newborn(child, parent firn.ID, args spawnArgs) ([]firn.Entry, error) {
	entries := []firn.Entry{{Body: &firn.Header{Session: child, Agent: s.name(), ParentSession: string(parent)}}}
	if label := strings.TrimSpace(oneLine(args.Label)); label != "" {
		entries = append(entries, firn.NewEntry(&firn.Title{Name: firn.CutText(label, titleLen), Source: firn.SourceAuto}))
	}
	if args.Model == "" {
		return entries, nil
	}
	providerName, model, ok := strings.Cut(args.Model, "/")
	if !ok || providerName == "" || model == "" {
		return nil, fmt.Errorf("a model is named provider/model, not %q: %w", firn.CutText(args.Model, nameLen), firn.ErrInvalid)
	}
	more, err := s.overrides(Override{Provider: providerName, Model: model})
	return append(entries, more...), err
}

// delegate runs a turn of another session and waits for it as long as was
// asked for. A turn that is waited for ends with the one that waits, if that is
// stopped; one that is not, or not any longer, goes on to its own end.
func (s *sessions) delegate(ctx context.Context, here place, id firn.ID, message string, timeout *int) (tool.Result, error) {
	wait := 120 * time.Second
	if timeout != nil {
		wait = time.Duration(min(max(*timeout, 0), 3600)) * time.Second
	}
	if wait > 0 {
		if !s.lanes.await(here.id, id) {
			return tool.Result{}, waitsForThis(id)
		}
		defer s.lanes.awaited(here.id, id)
	}
	ended, stop, err := s.start(here, id, message)
	if err != nil {
		return tool.Result{}, err
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
		stop(context.Cause(ctx))
		return tool.Result{}, context.Cause(ctx)
	}
}

// end is how a delegated turn ended.
type end struct {
	text string
	err  error
}

// start begins a turn of another session in the background. Its end is always
// told, whatever becomes of it. It is stopped by calling stop, and when the
// agent is closed.
func (s *sessions) start(here place, id firn.ID, message string) (ended <-chan end, stop context.CancelCauseFunc, err error) {
	ctx, stop := context.WithCancelCause(context.WithValue(context.Background(), sessionKey{}, here))
	tell := make(chan end, 1)
	started := s.background.start(func(base context.Context) {
		defer context.AfterFunc(base, func() { stop(context.Cause(base)) })()
		defer stop(nil)
		e := end{err: errors.New("the turn ended without a word")}
		defer func() { tell <- e }()
		e.text, e.err = s.answer(ctx, id, Say(message))
	})
	if !started {
		stop(nil)
		return nil, nil, fmt.Errorf("run a turn of session %s: %w", id, firn.ErrClosed)
	}
	return tell, stop, nil
}

// answer runs a turn, once the delegated turns before it have ended, and
// returns what was answered.
func (s *sessions) answer(ctx context.Context, id firn.ID, in Input) (text string, err error) {
	leave, err := s.lanes.enter(ctx, id)
	if err != nil {
		return "", err
	}
	defer leave()
	defer func() {
		if p := recover(); p != nil {
			text, err = "", fmt.Errorf("the turn broke down: %v", p)
		}
	}()
	var out Outcome
	for event, err := range s.Run(ctx, id, in) {
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

// lanes let the turns of a session wait for one another, so that each gets the
// answer to what it asked. The zero value is ready.
type lanes struct {
	mu    sync.Mutex
	lanes map[firn.ID]*lane
	// awaits names, for each session, those whose turns it waits for.
	awaits map[firn.ID][]firn.ID
}

// lane is where the turns of one session run.
type lane struct {
	taken chan struct{}
	// users are the turn that runs and those that wait.
	users int
}

// enter waits until no other turn is in the lane of a session. Who entered
// must leave.
func (l *lanes) enter(ctx context.Context, id firn.ID) (leave func(), err error) {
	in := l.use(id)
	select {
	case in.taken <- struct{}{}:
		leave = func() { <-in.taken; l.release(id, in) }
	case <-ctx.Done():
		leave = func() { l.release(id, in) }
	}
	if ctx.Err() != nil { // also if both were so at the same time
		leave()
		return nil, context.Cause(ctx)
	}
	return leave, nil
}

// use counts a user of a lane, which is there as long as it has any.
func (l *lanes) use(id firn.ID) *lane {
	l.mu.Lock()
	defer l.mu.Unlock()
	in := l.lanes[id]
	if in == nil {
		if l.lanes == nil {
			l.lanes = make(map[firn.ID]*lane)
		}
		in = &lane{taken: make(chan struct{}, 1)}
		l.lanes[id] = in
	}
	in.users++
	return in
}

func (l *lanes) release(id firn.ID, in *lane) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if in.users--; in.users == 0 {
		delete(l.lanes, id)
	}
}

// await notes that a session waits for a turn of another, until awaited is
// called. It refuses if the other waits for the first, over whatever corners:
// then neither would ever get on.
func (l *lanes) await(id, other firn.ID) bool {
	l.mu.Lock()
	defer l.mu.Unlock()
	if id == other || l.leads(other, id) {
		return false
	}
	if l.awaits == nil {
		l.awaits = make(map[firn.ID][]firn.ID)
	}
	l.awaits[id] = append(l.awaits[id], other)
	return true
}

func (l *lanes) awaited(id, other firn.ID) {
	l.mu.Lock()
	defer l.mu.Unlock()
	left := l.awaits[id]
	if i := slices.Index(left, other); i >= 0 {
		left = slices.Delete(left, i, i+1)
	}
	if l.awaits[id] = left; len(left) == 0 {
		delete(l.awaits, id)
	}
}

// leads reports whether a session waits for another. There are no circles,
// since await lets none begin.
func (l *lanes) leads(from, to firn.ID) bool {
	return slices.ContainsFunc(l.awaits[from], func(next firn.ID) bool { return next == to || l.leads(next, to) })
}
