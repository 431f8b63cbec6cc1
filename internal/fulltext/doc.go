package fulltext

import (
	"encoding/json"
	"hash/fnv"
	"slices"
	"strconv"
	"strings"
	"time"

	"firn"
	"firn/internal/blocks"
	"firn/internal/search"
)

// space is one of the two halves of the index: what was said, and what tools
// put out, which is looked at only if it is asked for.
type space int

const (
	talk space = iota
	tools
)

// How much of a text is indexed, in bytes. Of a tool's output it is the
// beginning and the end; [firn grep] finds the rest.
const (
	maxTalk  = 1 << 20
	maxTools = 32 << 10
	// maxArgument is how long a value may be that a tool is called with and that
	// counts as said: names and commands, not whole files.
	maxArgument  = 256
	maxArguments = 4 << 10
)

// piece is a text that can be found, before it is analysed.
type piece struct {
	space space
	role  search.Role
	text  string
	// tools are the names of the tools that are called or whose output it is,
	// paths what they are called with.
	tools, paths []string
	calls        bool
}

// piecesOf tells what of an entry can be found.
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
			return piecesOfMessage(m)
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
		return said(m)
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

// said is what an assistant said and which tools it called.
func said(m *firn.Message) []piece {
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

// arguments are the short texts that a tool is called with.
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
	time    int64 // milliseconds
	words   int
	// t holds the words of the text in order, x their other forms, f the facets.
	t, x, f string
}

// owner is what all texts of a session have in common.
type owner struct {
	session                  int64
	agent, key, source, path string
}

// facets are the tokens that filters look for.
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

// hashed is a facet of a name that may have any characters.
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

// sessionKey is the number of a session in the index. It depends on nothing but
// its id, so that an index that is built again is the same.
func sessionKey(id firn.ID) int64 { return int64(hash(string(id)) >> 1) }

// analyser makes rows of pieces. It keeps its memory.
type analyser struct{ t, x []byte }

// doc makes a row of a piece.
func (a *analyser) doc(o owner, common string, n int, at firn.Pos, entry firn.EntryID, when time.Time, p piece) doc {
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
	return d
}

// indexed is what of a piece is indexed.
func indexed(p piece) []string {
	if p.space == tools && len(p.text) > maxTools {
		return []string{firn.CutText(p.text, maxTools*3/4), p.text[len(p.text)-maxTools/4:]}
	}
	return []string{firn.CutText(p.text, maxTalk)}
}

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

// A row's number begins with its time, counted backwards, so that the newest
// come first, and a time is a range of numbers.
const (
	idBits    = 20
	maxTime   = 1<<42 - 1
	maxNumber = 1<<62 - 1
)

// firstNumber is the least number of a row of a time.
func firstNumber(time int64) int64 { return (maxTime - time) << idBits }

// timeOfNumber is the time that a number was made of. A row that found its
// number taken has one of the next.
func timeOfNumber(id int64) int64 { return maxTime - id>>idBits }

func clampTime(t time.Time) int64 {
	if t.IsZero() {
		return 0
	}
	return min(max(t.UnixMilli(), 0), maxTime)
}
