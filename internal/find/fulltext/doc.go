package fulltext

import (
	"encoding/json"
	"hash/fnv"
	"slices"
	"strconv"
	"strings"
	"time"

	"firn.dev"
	"firn.dev/internal/base/blocks"
	"firn.dev/internal/find/search"
)

// space is one of the two halves of the index: messages and tool output. Tool output is
// searched only on request.
type space int

const (
	talk space = iota
	tools
)

// Limits on the indexed part of a text, in bytes. Of a tool's output the beginning and the
// end are indexed; [firn grep] finds the rest.
const (
	maxTalk  = 1 << 20
	maxTools = 32 << 10
	// maxArgument is the maximum length of a tool call argument that is indexed with the
	// messages. It admits names and commands, but not whole files.
	maxArgument  = 256
	maxArguments = 4 << 10
)

// piece is a searchable text before analysis.
type piece struct {
	space space
	role  search.Role
	text  string
	// tools are the names of the called tools, or of the tool that produced the output;
	// paths are the arguments of the calls.
	tools, paths []string
	calls        bool
	// machine marks a message of a sub-agent in the session of another agent.
	machine bool
}

// piecesOf returns the searchable pieces of an entry.
func piecesOf(e firn.Entry) []piece {
	switch b := e.Body.(type) {
	case *firn.Message:
		return piecesOfMessage(b)
	case *firn.Compaction:
		return one(search.RoleSummary, b.Summary)
	case *firn.BranchSummary:
		return one(search.RoleSummary, b.Summary)
	case *firn.Title:
		return one(search.RoleTitle, b.Name)
	case *firn.Label:
		return one(search.RoleTitle, b.Name)
	case *firn.CustomMessage:
		return one(search.RoleSystem, firn.JoinText(b.Parts))
	case *firn.Custom:
		if m, ok := blocks.Sidechain(b); ok {
			all := piecesOfMessage(m)
			for i := range all {
				all[i].machine = true
			}
			return all
		}
	}
	return nil
}

func one(role search.Role, text string) []piece {
	if strings.TrimSpace(text) == "" {
		return nil
	}
	return []piece{{role: role, text: text}}
}

func piecesOfMessage(m *firn.Message) []piece {
	switch m.Role {
	case firn.RoleUser:
		return one(search.RoleUser, m.Text())
	case firn.RoleSystem:
		return one(search.RoleSystem, m.Text())
	case firn.RoleAssistant:
		return messagePieces(m)
	}
	var all []piece
	for _, part := range m.Parts {
		switch p := part.(type) {
		case firn.ToolResult:
			all = append(all, piece{space: tools, role: search.RoleTool, text: firn.JoinText(p.Content), tools: []string{p.Name}})
		case firn.Shell:
			all = append(all, piece{role: search.RoleShell, text: p.Command, calls: true})
			all = append(all, piece{space: tools, role: search.RoleShell, text: p.Output})
		}
	}
	return all
}

// messagePieces returns the pieces of an assistant message: its text and its tool calls.
func messagePieces(m *firn.Message) []piece {
	p := piece{role: search.RoleAssistant}
	var text strings.Builder
	text.WriteString(m.Text())
	room := maxArguments
	for _, part := range m.Parts {
		call, ok := part.(firn.ToolCall)
		if !ok {
			continue
		}
		p.calls = true
		p.tools = append(p.tools, call.Name)
		if text.Len() > 0 {
			text.WriteByte('\n')
		}
		text.WriteString(call.Name)
		for _, value := range arguments(call.Arguments) {
			if room -= len(value); room < 0 {
				break
			}
			text.WriteString(" " + value)
			if strings.ContainsAny(value, `/\.`) && !strings.ContainsAny(value, " \n") {
				p.paths = append(p.paths, value)
			}
		}
	}
	if p.text = text.String(); strings.TrimSpace(p.text) == "" {
		return nil
	}
	return []piece{p}
}

// arguments returns the short string arguments of a tool call.
func arguments(raw json.RawMessage) []string {
	if len(raw) > 64<<10 {
		return nil
	}
	var values map[string]any
	if json.Unmarshal(raw, &values) != nil {
		return nil
	}
	names := make([]string, 0, len(values))
	for name := range values {
		names = append(names, name)
	}
	slices.Sort(names)
	var texts []string
	for _, name := range names {
		if text, ok := values[name].(string); ok && text != "" && len(text) <= maxArgument {
			texts = append(texts, text)
		}
	}
	return texts
}

// doc is a row of the index.
type doc struct {
	id      int64
	session int64
	n       int
	at      firn.Pos
	entry   firn.EntryID
	space   space
	role    search.Role
	calls   bool
	machine bool
	time    int64 // milliseconds
	words   int
	// asks is the percentage of the text that is questions.
	asks int
	// t holds the words of the text in order, x their other forms, f the facets.
	t, x, f string
}

// owner holds the attributes shared by all texts of a session.
type owner struct {
	session                  int64
	agent, key, source, path string
	// machine marks sessions of programs: jobs, hooks and sub-agents.
	machine bool
}

// facets returns the tokens that filters match.
func (o owner) facets() string {
	var b strings.Builder
	b.WriteString(facet("s", strconv.FormatInt(o.session, 36)))
	b.WriteString(" " + hashed("a", o.agent) + " " + hashed("o", o.source))
	if o.key != "" {
		b.WriteString(" " + hashed("k", o.key))
	}
	if o.path != "" {
		b.WriteString(" " + hashed("c", o.path))
	}
	return b.String()
}

func facet(kind, name string) string { return kind + name }

// hashed returns the facet for a name that may contain any characters.
func hashed(kind, name string) string {
	return kind + strconv.FormatUint(hash(name)>>16, 36)
}

func hash(parts ...string) uint64 {
	h := fnv.New64a()
	for _, p := range parts {
		h.Write([]byte(p))
		h.Write([]byte{0})
	}
	return h.Sum64()
}

// sessionKey returns the number of a session in the index. It depends only on the session
// ID, so a rebuilt index is identical.
func sessionKey(id firn.ID) int64 { return int64(hash(string(id)) >> 1) }

// analyzer turns pieces into rows. It reuses its buffers.
type analyzer struct{ t, x []byte }

// doc turns a piece into a row.
func (a *analyzer) doc(o owner, common string, n int, at firn.Pos, entry firn.EntryID, when time.Time, p piece) doc {
	a.t, a.x = a.t[:0], a.x[:0]
	words := 0
	take := func(term []byte, _, _ int, extra bool) {
		if extra {
			a.x = append(append(a.x, term...), ' ')
			return
		}
		words++
		a.t = append(append(a.t, term...), ' ')
	}
	for _, text := range indexed(p) {
		search.Scan(text, take)
	}
	d := doc{
		session: o.session, n: n, at: at, entry: entry, space: p.space, role: p.role, calls: p.calls,
		time: clampTime(when), words: words, t: string(a.t), x: string(a.x),
	}
	d.id = firstNumber(d.time) | int64(hash(strconv.FormatInt(o.session, 36), strconv.Itoa(n), strconv.Itoa(int(p.space)))&(1<<idBits-1))
	d.f = facetsOf(common, p)
	if p.space == talk {
		d.asks = int(100 * search.AskedShare(p.text))
	}
	if d.machine = o.machine || p.machine; d.machine {
		d.f = machineFacet + " " + d.f
	}
	return d
}

// indexed returns the parts of a piece that are indexed.
func indexed(p piece) []string {
	if p.space == tools && len(p.text) > maxTools {
		return []string{firn.CutText(p.text, maxTools*3/4), p.text[len(p.text)-maxTools/4:]}
	}
	return []string{firn.CutText(p.text, maxTalk)}
}

// machineFacet is the first facet of rows that programs wrote without a person.
const machineFacet = "mauto"

func facetsOf(common string, p piece) string {
	var b strings.Builder
	b.WriteString(common)
	b.WriteString(" r" + string(p.role))
	for _, name := range p.tools {
		if folded := search.FoldText(name); folded != "" {
			b.WriteString(" t" + folded)
		}
	}
	for _, path := range p.paths {
		b.WriteString(" z")
		for _, name := range search.PathNames(path) {
			b.WriteString(" p" + name)
		}
	}
	return b.String()
}

// A row id starts with the time, counted backwards, so that the newest rows sort first and
// a time span is a range of ids.
const (
	idBits    = 20
	maxTime   = 1<<42 - 1
	maxNumber = 1<<62 - 1
)

// firstNumber returns the lowest row id for a time.
func firstNumber(time int64) int64 { return (maxTime - time) << idBits }

// timeOfNumber returns the time encoded in a row id. It may be off for a row that was moved
// to the next free id.
func timeOfNumber(id int64) int64 { return maxTime - id>>idBits }

func clampTime(t time.Time) int64 {
	if t.IsZero() {
		return 0
	}
	return min(max(t.UnixMilli(), 0), maxTime)
}
