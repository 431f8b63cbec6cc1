package convert

import (
	"slices"
	"strconv"
	"strings"
	"time"

	"firn.dev"
	"firn.dev/internal/formats/dialect"
	"firn.dev/window"
)

// The names of changes made because a provider would reject the original. They are listed
// with the limits of the tool in a report.
const (
	limitCallIDs    = "call ids"
	limitToolNames  = "tool names"
	limitArguments  = "arguments"
	limitImages     = "images"
	limitParts      = "unknown parts"
	limitText       = "text"
	limitBlank      = "blank text"
	limitUnpaired   = "results without a call"
	limitUnanswered = "calls without a result"
	limitFirst      = "first message"
	limitTools      = "tools"
	limitAnswer     = "unanswered session"
)

// providerLimits describes the substitutes for content that a provider would reject.
var providerLimits = []dialect.Limit{
	{Name: limitCallIDs, Becomes: "IDs that a provider rejects are replaced, in the call and in its result"},
	{Name: limitToolNames, Becomes: "characters that a provider rejects in tool names become _, and names are cut to 64 characters"},
	{Name: limitArguments, Becomes: "arguments that are not an object become one"},
	{Name: limitImages, Becomes: "images without data, of unsupported types or larger than a provider accepts become a note"},
	{Name: limitParts, Becomes: "documents become a note, and parts of unknown kinds are omitted"},
	{Name: limitText, Becomes: "bytes that are not valid text are replaced"},
	{Name: limitBlank, Becomes: "text of white space is omitted, and messages of nothing else"},
	{Name: limitUnpaired, Becomes: "results without a preceding call are omitted"},
	{Name: limitUnanswered, Becomes: "a placeholder result is added to a call without one"},
	{Name: limitFirst, Becomes: "a user message is inserted before a conversation that starts with the assistant"},
	{Name: limitTools, Becomes: "OpenClaw before 2026.9 sends neither calls to unknown tools nor their results"},
	{Name: limitAnswer, Becomes: "a placeholder answer is added to a session that has none, because OpenClaw before 2026.9 would clear it"},
}

// openClawTools are the tools of OpenClaw 2026.5.7.
var openClawTools = []string{
	"read", "write", "edit", "apply_patch", "exec", "process", "code_execution", "web_search", "web_fetch", "x_search",
	"memory_search", "memory_get", "sessions_list", "sessions_history", "sessions_send", "sessions_spawn", "sessions_yield",
	"subagents", "session_status", "browser", "canvas", "message", "heartbeat_respond", "cron", "gateway", "nodes",
	"agents_list", "update_plan", "image", "image_generate", "music_generate", "video_generate", "tts",
}

// ruleLimits maps the rules of package window to the names of limits.
var ruleLimits = map[string]string{
	"call-ids": limitCallIDs, "tool-names": limitToolNames, "arguments": limitArguments, "images": limitImages, "parts": limitParts, "clean-text": limitText, "blank-text": limitBlank,
}

// fitterFor returns the fitter for the provider to which a tool sends its sessions; nil if
// there is none.
func fitterFor(tool dialect.Name) *window.Fitter {
	switch tool {
	case dialect.ClaudeCode, dialect.Cersei, dialect.Claw0:
		return window.NewFitter(window.Anthropic(), anthropicPart)
	case dialect.Codex:
		return window.NewFitter(window.OpenAIResponses(), anyPart) // Codex's printer recognizes the items of the API
	case dialect.CrabTalk:
		return window.NewFitter(window.OpenAIChat(), anyPart) // CrabTalk's printer omits unknown parts
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

// fitted is an entry to be printed.
type fitted struct {
	dialect.EntryLines
	// changed is set if the original lines no longer match the entry, synthetic if the entry
	// was added here.
	changed, synthetic bool
	losses             []dialect.Loss
}

// fitting adapts a path to the provider of a tool: the content of messages, the first
// speaker, and a result for every call. It holds back only the messages between a call and
// its result.
type fitting struct {
	fitter *window.Fitter
	to     dialect.Name
	// linear is set if there is a single path.
	linear bool
	// closing is set if calls that are open at the end get a placeholder result.
	closing bool
	// started is set once a message was sent on this path.
	started bool
	// open are the calls of the last response without a result, and asked is that response;
	// own is set if the tool itself wrote it.
	open  []firn.ToolCall
	asked firn.Entry
	own   bool
	// unsure is set if the path continued from an earlier entry, so that earlier calls may
	// be open too.
	unsure bool
	// placeholders is the number of results added for that response.
	placeholders int
	// held are the entries after the response that wait for its results.
	held []fitted
	// last is the latest entry taken, tail the latest emitted. shifted is set if they may
	// differ because an entry was synthesized, moved or omitted.
	last, tail firn.EntryID
	shifted    bool
	// answered is set once there is a response, at is the time of the latest entry.
	answered bool
	at       time.Time
	// gone maps omitted entries to the new parent of their children.
	gone map[firn.EntryID]firn.EntryID
	out  []fitted
}

func newFitting(to dialect.Name, linear bool) *fitting {
	fitter := fitterFor(to)
	if fitter == nil {
		return nil
	}
	return &fitting{fitter: fitter, to: to, linear: linear, closing: !completesCalls(to), gone: make(map[firn.EntryID]firn.EntryID)}
}

// completesCalls reports whether a tool that resumes a session adds the results that calls
// lack. The others send such a session unchanged, and their provider rejects it.
func completesCalls(tool dialect.Name) bool {
	return tool != dialect.CrabTalk && tool != dialect.Cersei && tool != dialect.Claw0
}

// take processes the next entry and returns those that can be written now.
func (f *fitting) take(t dialect.EntryLines, changed bool) []fitted {
	f.out = f.out[:0]
	e := &t.Entry
	if e.ID == "" {
		return append(f.out, fitted{EntryLines: t, changed: changed})
	}
	if e.Parent != f.last && !f.linear { // another branch
		f.release(false)
		f.unsure = e.Parent != "" && e.Parent != firn.Root
		f.started = f.started && f.unsure
		f.tail, f.shifted = e.Parent, false
		if up, ok := f.gone[e.Parent]; ok {
			f.tail, f.shifted = up, true
		}
	}
	f.last = e.ID
	tool, _ := dialect.Carried(*e)
	one := fitted{EntryLines: t, changed: changed}
	switch m, _ := e.Body.(*firn.Message); {
	case !window.IsSent(e):
		f.takeOther(one)
	case m != nil && m.Role == firn.RoleToolResult:
		f.result(one, m, tool == f.to && !changed)
	case m != nil && m.Role == firn.RoleAssistant:
		f.answer(one, m, tool == f.to && !changed)
	default:
		f.takeMessage(one, tool == f.to && !changed)
	}
	return f.out
}

// finish returns the entries held back. The last response may still get its results, but some
// tools need them to resume the session.
func (f *fitting) finish() []fitted {
	f.out = f.out[:0]
	f.release(len(f.held) > 0 || f.closing)
	if f.to == dialect.OpenClaw && f.linear && f.started && !f.answered {
		f.addPlaceholderAnswer()
	}
	return f.out
}

// addPlaceholderAnswer adds an answer: OpenClaw before 2026.9 clears a file that has none.
func (f *fitting) addPlaceholderAnswer() {
	id := f.tail + ".a"
	m := firn.Message{Role: firn.RoleAssistant, Time: f.at, StopReason: firn.StopEnd, Parts: []firn.Part{firn.Text{Text: "(no answer)"}}}
	f.emit(fitted{EntryLines: dialect.EntryLines{Entry: firn.Entry{ID: id, Parent: f.tail, Time: f.at, Body: &m}}, synthetic: true, losses: []dialect.Loss{{Entry: id, Kind: firn.KindMessage, Limit: limitAnswer}}})
}

// takeOther processes an entry that is not sent to the model. A compaction represents the
// messages before it.
func (f *fitting) takeOther(one fitted) {
	if _, ok := one.Entry.Body.(*firn.Compaction); ok {
		f.started = true
	}
	f.emit(one)
}

// answer processes a response.
func (f *fitting) answer(one fitted, m *firn.Message, own bool) {
	f.release(true)
	f.first(one, own)
	if own {
		f.fitter.Note(m)
	} else if m = f.fit(&one, m); m == nil {
		return
	}
	f.asked, f.placeholders, f.own, f.unsure = one.Entry, 0, own, false
	for _, part := range m.Parts {
		if call, ok := part.(firn.ToolCall); ok {
			f.open = append(f.open, call)
			one.unknownTool(f.to, call.Name)
		}
	}
	f.emit(one)
}

// first inserts a user message before a path that starts with a response.
func (f *fitting) first(one fitted, own bool) {
	if f.started || own {
		f.started = true
		return
	}
	f.started, f.shifted = true, true
	m := window.OpeningMessage()
	m.Time = one.Entry.Time
	id := one.Entry.ID + ".0"
	f.emit(fitted{EntryLines: dialect.EntryLines{Entry: firn.Entry{ID: id, Parent: one.Entry.Parent, Time: one.Entry.Time, Body: &m}}, synthetic: true, losses: []dialect.Loss{{Entry: id, Kind: firn.KindMessage, Limit: limitFirst}}})
}

// takeMessage processes any other message. Between a call and its result it is held back
// until after the result.
func (f *fitting) takeMessage(one fitted, own bool) {
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
	f.started = f.started || own || !isEmpty(one.Entry.Body)
	if len(f.open) > 0 && !own && !f.own {
		f.shifted = true
		f.held = append(f.held, keepFitted(one))
		return
	}
	f.emit(one)
}

// isEmpty reports whether a message consists of empty text: tools leave it out.
func isEmpty(b firn.Body) bool {
	m, ok := b.(*firn.Message)
	return ok && !slices.ContainsFunc(m.Parts, func(p firn.Part) bool { text, ok := p.(firn.Text); return !ok || text.Text != "" })
}

// result processes the result of a call.
func (f *fitting) result(one fitted, m *firn.Message, own bool) {
	if own && f.fitter.Renames(m) {
		one.changed, own = true, false
	}
	if !own {
		if m = f.fit(&one, m); m == nil {
			return
		}
		if f.pair(&one, m) == 0 && !f.unsure {
			f.omit(one, limitUnpaired)
			return
		}
	} else {
		f.pair(&fitted{}, m)
	}
	held := f.held
	f.held = nil
	f.emit(one)
	f.held = held
	if len(f.open) == 0 {
		f.release(false)
	}
}

// pair finds the calls that a message answers, sets their names on the results, and returns
// their number.
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

// release emits the entries held back. If missing is set, open calls get a placeholder
// result.
func (f *fitting) release(missing bool) {
	held := f.held
	f.held = nil
	if missing && !f.own {
		for _, call := range f.open {
			f.shifted = true
			m := window.MissingResult(call)
			m.Time = f.asked.Time
			f.placeholders++
			id := f.asked.ID + firn.EntryID(".r"+strconv.Itoa(f.placeholders))
			f.emit(fitted{EntryLines: dialect.EntryLines{Entry: firn.Entry{ID: id, Parent: f.tail, Time: f.asked.Time, Body: &m}}, synthetic: true, losses: []dialect.Loss{{Entry: id, Kind: firn.KindMessage, Limit: limitUnanswered}}})
		}
	}
	f.open = f.open[:0]
	for _, one := range held {
		f.emit(one)
	}
}

// emit adds an entry to the output, after the previous one. An entry that follows one held back is held
// back too.
func (f *fitting) emit(one fitted) {
	if len(f.held) > 0 {
		f.held = append(f.held, keepFitted(one))
		return
	}
	if f.shifted && one.Entry.Parent != f.tail {
		one.Entry.Parent, one.changed = f.tail, true
	}
	m, ok := one.Entry.Body.(*firn.Message)
	f.answered = f.answered || ok && m.Role == firn.RoleAssistant
	f.tail, f.at = one.Entry.ID, one.Entry.Time
	f.out = append(f.out, one)
}

// omit drops an entry and records the loss.
func (f *fitting) omit(one fitted, limit string) {
	f.shifted = true
	f.gone[one.Entry.ID] = f.tail
	one.losses = slices.DeleteFunc(one.losses, func(l dialect.Loss) bool { return l.Limit == limit })
	one.losses = append(one.losses, dialect.Loss{Entry: one.Entry.ID, Kind: one.Entry.Body.Kind(), Limit: limit, Dropped: true})
	one.Entry.Body = nil
	f.out = append(f.out, one)
}

// fit returns the message as the provider accepts it; nil if nothing remains of it.
func (f *fitting) fit(one *fitted, m *firn.Message) *firn.Message {
	adapted, repairs := f.fitter.Fit(one.Entry.ID, m)
	if len(repairs) == 0 {
		return m
	}
	one.recordLosses(repairs)
	if adapted == nil {
		f.omit(*one, ruleLimits[repairs[len(repairs)-1].Rule])
		return nil
	}
	one.Entry.Body, one.changed = adapted, true
	return adapted
}

// fitCustom is like fit, for a custom message. It returns false if nothing remains of it.
func (f *fitting) fitCustom(one *fitted, b *firn.CustomMessage) bool {
	as := firn.Message{Role: firn.RoleUser, Parts: b.Parts, Time: one.Entry.Time}
	adapted, repairs := f.fitter.Fit(one.Entry.ID, &as)
	if len(repairs) == 0 {
		return true
	}
	one.recordLosses(repairs)
	if adapted == nil {
		f.omit(*one, ruleLimits[repairs[len(repairs)-1].Rule])
		return false
	}
	message := *b
	message.Parts = adapted.Parts
	one.Entry.Body, one.changed = &message, true
	return true
}

// recordLosses records the losses for the repairs, each limit once.
func (one *fitted) recordLosses(repairs []window.Repair) {
	for _, r := range repairs {
		limit := ruleLimits[r.Rule]
		if !slices.ContainsFunc(one.losses, func(l dialect.Loss) bool { return l.Limit == limit }) {
			one.losses = append(one.losses, dialect.Loss{Entry: one.Entry.ID, Kind: one.Entry.Body.Kind(), Limit: limit})
		}
	}
}

// unknownTool records a call to a tool that the target does not have and therefore does not
// send.
func (one *fitted) unknownTool(to dialect.Name, name string) {
	known := slices.ContainsFunc(openClawTools, func(tool string) bool { return strings.EqualFold(tool, name) })
	if to == dialect.OpenClaw && !known && !slices.ContainsFunc(one.losses, func(l dialect.Loss) bool { return l.Limit == limitTools }) {
		one.losses = append(one.losses, dialect.Loss{Entry: one.Entry.ID, Kind: firn.KindMessage, Limit: limitTools})
	}
}

// keepFitted returns a copy whose lines stay valid when the input is read further.
func keepFitted(one fitted) fitted {
	one.EntryLines = keep(one.EntryLines)
	return one
}
