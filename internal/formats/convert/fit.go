package convert

import (
	"slices"
	"strconv"
	"strings"

	"firn.dev"
	"firn.dev/internal/formats/dialect"
	"firn.dev/window"
)

// The names of what a provider would refuse and is therefore changed. They stand
// beside the limits of the tool in a report.
const (
	limitCallIDs    = "call ids"
	limitToolNames  = "tool names"
	limitArguments  = "arguments"
	limitImages     = "images"
	limitParts      = "unknown parts"
	limitText       = "text"
	limitUnpaired   = "results without a call"
	limitUnanswered = "calls without a result"
	limitFirst      = "first message"
	limitTools      = "tools"
)

// providerLimits says what becomes of what a provider would refuse.
var providerLimits = []dialect.Limit{
	{Name: limitCallIDs, Becomes: "ids that a provider refuses are replaced, at the call and at its result"},
	{Name: limitToolNames, Becomes: "characters that a provider refuses in the name of a tool become _, and longer names are cut at 64"},
	{Name: limitArguments, Becomes: "arguments that are no object become one"},
	{Name: limitImages, Becomes: "images without data, of other types or larger than a provider takes become a note"},
	{Name: limitParts, Becomes: "documents become a note, and parts of kinds that the tool does not know are left out"},
	{Name: limitText, Becomes: "bytes that are not text are replaced"},
	{Name: limitUnpaired, Becomes: "results whose call does not stand before them are left out"},
	{Name: limitUnanswered, Becomes: "a result that says so is added to a call without one"},
	{Name: limitFirst, Becomes: "a message of the user is put before a conversation that begins with the assistant"},
	{Name: limitTools, Becomes: "OpenClaw before 2026.9 does not send calls of tools that it does not have, nor their results"},
}

// openClawTools are the tools that OpenClaw 2026.5.7 has.
var openClawTools = []string{
	"read", "write", "edit", "apply_patch", "exec", "process", "code_execution", "web_search", "web_fetch", "x_search",
	"memory_search", "memory_get", "sessions_list", "sessions_history", "sessions_send", "sessions_spawn", "sessions_yield",
	"subagents", "session_status", "browser", "canvas", "message", "heartbeat_respond", "cron", "gateway", "nodes",
	"agents_list", "update_plan", "image", "image_generate", "music_generate", "video_generate", "tts",
}

// ruleLimits are the names of the limits by the rules of package window.
var ruleLimits = map[string]string{
	"call-ids": limitCallIDs, "tool-names": limitToolNames, "arguments": limitArguments, "images": limitImages, "parts": limitParts, "clean-text": limitText,
}

// fitterFor returns what makes messages fit the provider that a tool asks; nil
// if the tool's files are not for one.
func fitterFor(tool dialect.Name) *window.Fitter {
	switch tool {
	case dialect.ClaudeCode, dialect.Cersei, dialect.Claw0:
		return window.NewFitter(window.Anthropic(), anthropicPart)
	case dialect.Codex:
		return window.NewFitter(window.OpenAIResponses(), anyPart) // its printer knows which are items of the API
	case dialect.CrabTalk:
		return window.NewFitter(window.OpenAIChat(), anyPart) // its printer leaves them out
	case dialect.Pi, dialect.OpenClaw:
		return window.NewFitter(window.Portable(), nil)
	}
	return nil
}

func anyPart(firn.Role, firn.OpaquePart) bool { return true }

// anthropicPart reports whether a part is a block of the Messages API.
func anthropicPart(role firn.Role, p firn.OpaquePart) bool {
	if role != firn.RoleAssistant {
		return p.Type == "document" || p.Type == "search_result" || p.Type == "tool_reference"
	}
	return p.Type == "server_tool_use" || p.Type == "mcp_tool_use" || p.Type == "mcp_tool_result" || strings.HasSuffix(p.Type, "_tool_result")
}

// fitted is an entry on its way to the printer.
type fitted struct {
	Told
	// changed says that the lines it came from do not say it any more, made that
	// it stands in no transcript.
	changed, made bool
	losses        []dialect.Loss
}

// fitting makes a path fit the provider of a tool: what is in its messages, who
// speaks first, and that every call is followed by its result. It holds back what
// was said between a call and its result, and never more.
type fitting struct {
	fitter *window.Fitter
	to     dialect.Name
	// linear says that there is one path.
	linear bool
	// begun says that something was sent on this path.
	begun bool
	// open are the calls of the last answer that have no result yet, and asked is
	// that answer; own says that the tool itself wrote it.
	open  []firn.ToolCall
	asked firn.Entry
	own   bool
	// unsure says that the path went on from an earlier entry, so that calls from
	// before it may be open too.
	unsure bool
	// made counts the results that were made up for it.
	made int
	// held are the entries that came before those results.
	held []fitted
	// last is the latest entry that was taken, tail the latest that was given.
	// shifted says that they may differ: something was made up, moved or left out.
	last, tail firn.EntryID
	shifted    bool
	// gone tells where what hung under an entry that was left out hangs.
	gone map[firn.EntryID]firn.EntryID
	out  []fitted
}

func newFitting(to dialect.Name, linear bool) *fitting {
	fitter := fitterFor(to)
	if fitter == nil {
		return nil
	}
	return &fitting{fitter: fitter, to: to, linear: linear, gone: make(map[firn.EntryID]firn.EntryID)}
}

// take takes the next entry and returns those that can be written now.
func (f *fitting) take(t Told, changed bool) []fitted {
	f.out = f.out[:0]
	e := &t.Entry
	if e.ID == "" {
		return append(f.out, fitted{Told: t, changed: changed})
	}
	if e.Parent != f.last && !f.linear { // another branch
		f.release(false)
		f.unsure = e.Parent != "" && e.Parent != firn.Root
		f.begun = f.begun && f.unsure
		f.tail, f.shifted = e.Parent, false
		if up, ok := f.gone[e.Parent]; ok {
			f.tail, f.shifted = up, true
		}
	}
	f.last = e.ID
	tool, _ := dialect.Carried(*e)
	one := fitted{Told: t, changed: changed}
	switch m, _ := e.Body.(*firn.Message); {
	case !window.IsSent(e):
		f.aside(one)
	case m != nil && m.Role == firn.RoleToolResult:
		f.result(one, m, tool == f.to && !changed)
	case m != nil && m.Role == firn.RoleAssistant:
		f.answer(one, m, tool == f.to && !changed)
	default:
		f.said(one, tool == f.to && !changed)
	}
	return f.out
}

// finish returns what was held back. The last answer may still get its results,
// and every tool copes with calls that were interrupted at the end.
func (f *fitting) finish() []fitted {
	f.out = f.out[:0]
	f.release(len(f.held) > 0)
	return f.out
}

// aside takes an entry that no model sees. A compaction tells what was said
// before it.
func (f *fitting) aside(one fitted) {
	if _, ok := one.Entry.Body.(*firn.Compaction); ok {
		f.begun = true
	}
	f.give(one)
}

// answer takes what the assistant says.
func (f *fitting) answer(one fitted, m *firn.Message, own bool) {
	f.release(true)
	f.first(one, own)
	if own {
		f.fitter.Note(m)
	} else if m = f.fit(&one, m); m == nil {
		return
	}
	f.asked, f.made, f.own, f.unsure = one.Entry, 0, own, false
	for _, part := range m.Parts {
		if call, ok := part.(firn.ToolCall); ok {
			f.open = append(f.open, call)
			one.unknownTool(f.to, call.Name)
		}
	}
	f.give(one)
}

// first puts a message of the user before a path that the assistant begins.
func (f *fitting) first(one fitted, own bool) {
	if f.begun || own {
		f.begun = true
		return
	}
	f.begun, f.shifted = true, true
	m := window.FirstWord()
	m.Time = one.Entry.Time
	id := one.Entry.ID + ".0"
	f.give(fitted{Told: Told{Entry: firn.Entry{ID: id, Parent: one.Entry.Parent, Time: one.Entry.Time, Body: &m}}, made: true, losses: []dialect.Loss{{Entry: id, Kind: firn.KindMessage, Limit: limitFirst}}})
}

// said takes what anybody else says. Between a call and its result it is held
// back: it comes after the result.
func (f *fitting) said(one fitted, own bool) {
	f.begun = true
	switch b := one.Entry.Body.(type) {
	case *firn.Message:
		if !own && b.Role == firn.RoleUser && f.fit(&one, b) == nil {
			return
		}
	case *firn.CustomMessage:
		if !own && !f.fitCustom(&one, b) {
			return
		}
	}
	if len(f.open) > 0 && !own && !f.own {
		f.shifted = true
		f.held = append(f.held, keepFitted(one))
		return
	}
	f.give(one)
}

// result takes the result of a call.
func (f *fitting) result(one fitted, m *firn.Message, own bool) {
	if own && f.fitter.Renames(m) {
		one.changed, own = true, false
	}
	if !own {
		if m = f.fit(&one, m); m == nil {
			return
		}
		if f.pair(&one, m) == 0 && !f.unsure {
			f.leave(one, limitUnpaired)
			return
		}
	} else {
		f.pair(&fitted{}, m)
	}
	held := f.held
	f.held = nil
	f.give(one)
	f.held = held
	if len(f.open) == 0 {
		f.release(false)
	}
}

// pair finds the calls that a message answers, and returns how many there are.
// Results have the names of their calls then.
func (f *fitting) pair(one *fitted, m *firn.Message) (n int) {
	for i, part := range m.Parts {
		result, ok := part.(firn.ToolResult)
		if !ok {
			continue
		}
		at := slices.IndexFunc(f.open, func(c firn.ToolCall) bool { return c.ID == result.CallID })
		if at < 0 {
			continue
		}
		n++
		if name := f.open[at].Name; result.Name != "" && result.Name != name {
			result.Name = name
			named := *m
			named.Parts = slices.Clone(m.Parts)
			named.Parts[i] = result
			m, one.Entry.Body, one.changed = &named, &named, true
		}
		f.open = slices.Delete(f.open, at, at+1)
	}
	return n
}

// release gives what was held back. If missing is set, calls that have no result
// get one that says so.
func (f *fitting) release(missing bool) {
	held := f.held
	f.held = nil
	if missing && !f.own {
		for _, call := range f.open {
			f.shifted = true
			m := window.MissingResult(call)
			m.Time = f.asked.Time
			f.made++
			id := f.asked.ID + firn.EntryID(".r"+strconv.Itoa(f.made))
			f.give(fitted{Told: Told{Entry: firn.Entry{ID: id, Parent: f.tail, Time: f.asked.Time, Body: &m}}, made: true, losses: []dialect.Loss{{Entry: id, Kind: firn.KindMessage, Limit: limitUnanswered}}})
		}
	}
	f.open = f.open[:0]
	for _, one := range held {
		f.give(one)
	}
}

// give lets an entry be written, behind the one that was given before it. What
// follows something that is held back is held back too.
func (f *fitting) give(one fitted) {
	if len(f.held) > 0 {
		f.held = append(f.held, keepFitted(one))
		return
	}
	if f.shifted && one.Entry.Parent != f.tail {
		one.Entry.Parent, one.changed = f.tail, true
	}
	f.tail = one.Entry.ID
	f.out = append(f.out, one)
}

// leave leaves an entry out.
func (f *fitting) leave(one fitted, limit string) {
	f.shifted = true
	f.gone[one.Entry.ID] = f.tail
	one.losses = append(one.losses, dialect.Loss{Entry: one.Entry.ID, Kind: one.Entry.Body.Kind(), Limit: limit, Dropped: true})
	one.Entry.Body = nil
	f.out = append(f.out, one)
}

// fit makes a message fit; nil if nothing is left of it.
func (f *fitting) fit(one *fitted, m *firn.Message) *firn.Message {
	made, repairs := f.fitter.Fit(one.Entry.ID, m)
	if len(repairs) == 0 {
		return m
	}
	one.lose(repairs)
	if made == nil {
		f.leave(*one, limitParts)
		return nil
	}
	one.Entry.Body, one.changed = made, true
	return made
}

// fitCustom is fit for what a program says to the model; false if nothing is
// left of it.
func (f *fitting) fitCustom(one *fitted, b *firn.CustomMessage) bool {
	as := firn.Message{Role: firn.RoleUser, Parts: b.Parts, Time: one.Entry.Time}
	made, repairs := f.fitter.Fit(one.Entry.ID, &as)
	if len(repairs) == 0 {
		return true
	}
	one.lose(repairs)
	if made == nil {
		f.leave(*one, limitParts)
		return false
	}
	said := *b
	said.Parts = made.Parts
	one.Entry.Body, one.changed = &said, true
	return true
}

// lose notes what was changed, each limit once.
func (one *fitted) lose(repairs []window.Repair) {
	for _, r := range repairs {
		limit := ruleLimits[r.Rule]
		if !slices.ContainsFunc(one.losses, func(l dialect.Loss) bool { return l.Limit == limit }) {
			one.losses = append(one.losses, dialect.Loss{Entry: one.Entry.ID, Kind: one.Entry.Body.Kind(), Limit: limit})
		}
	}
}

// unknownTool notes a call of a tool that the other one does not have and
// therefore does not send.
func (one *fitted) unknownTool(to dialect.Name, name string) {
	known := slices.ContainsFunc(openClawTools, func(tool string) bool { return strings.EqualFold(tool, name) })
	if to == dialect.OpenClaw && !known && !slices.ContainsFunc(one.losses, func(l dialect.Loss) bool { return l.Limit == limitTools }) {
		one.losses = append(one.losses, dialect.Loss{Entry: one.Entry.ID, Kind: firn.KindMessage, Limit: limitTools})
	}
}

// keepFitted makes a copy that outlives the step.
func keepFitted(one fitted) fitted {
	one.Told = keep(one.Told)
	return one
}
