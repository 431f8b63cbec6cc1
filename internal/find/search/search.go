// Package search implements the semantics of searching conversations: tokenization
// ([Scan]), queries ([Parse]), ranking ([Ranker]), snippets ([Excerpt]) and detection of
// copies ([IsCopy]).
//
// It is pure: it reads no files and no clock, and has no index. Package fulltext maintains
// the index and uses this package.
package search

import (
	"time"

	"firn.dev"
)

// Limits of a search and its result.
const (
	// DefaultLimit is the default number of hits, MaxLimit the maximum.
	DefaultLimit, MaxLimit = 20, 100
	// DefaultContext is the default number of items before and after a hit; MaxItems is the
	// maximum size of a window, including the hit.
	DefaultContext, MaxItems = 4, 16
	// MaxSnippet is the maximum length of a snippet in bytes, MaxItem that of another item
	// of the window.
	MaxSnippet, MaxItem = 1024, 512
	// MaxQuery is the maximum length of a query in bytes, MaxWords the maximum number of
	// words and phrases.
	MaxQuery, MaxWords = 4096, 64
)

// In selects the kind of text to search.
type In string

// Values of In. Empty means InTalk.
const (
	// InTalk is messages of users and models, summaries and titles.
	InTalk In = "talk"
	// InTools is the output of tools and commands.
	InTools In = "tools"
	// InAll is both.
	InAll In = "all"
)

// Machines selects how sessions of programs rank: those of jobs, hooks and sub-agents.
type Machines string

// Values of Machines. Empty means MachinesLower.
const (
	// MachinesLower multiplies their scores by MachinePrior.
	MachinesLower Machines = "lower"
	// MachinesEqual ranks them as those of people.
	MachinesEqual Machines = "equal"
	// MachinesHide leaves them out, MachinesOnly leaves out all others.
	MachinesHide Machines = "hide"
	MachinesOnly Machines = "only"
)

// AllMachines returns the values of Machines.
func AllMachines() []Machines {
	return []Machines{MachinesLower, MachinesEqual, MachinesHide, MachinesOnly}
}

// MachinePrior is the factor of the scores of messages that programs wrote. PartMachine is
// the part of the score that it takes away.
const (
	MachinePrior = 0.6
	PartMachine  = "machine"
)

// Role is the kind of a hit.
type Role string

// Roles of hits.
const (
	RoleUser      Role = "user"
	RoleAssistant Role = "assistant"
	RoleTool      Role = "tool"
	RoleShell     Role = "shell"
	RoleSystem    Role = "system"
	RoleSummary   Role = "summary"
	RoleTitle     Role = "title"
)

// Roles returns all roles.
func Roles() []Role {
	return []Role{RoleUser, RoleAssistant, RoleTool, RoleShell, RoleSystem, RoleSummary, RoleTitle}
}

// Query is a search query. The values of one filter are alternatives; different filters
// must all match.
type Query struct {
	// Want is the condition on the text; nil matches everything.
	Want *Node
	// Literal, if not nil, is the text to find in one session instead of Want. The hits are
	// all entries with it, the latest first; other filters than In do not apply.
	Literal *Literal
	// Roles, Tools, Agents, Keys, Sources, Paths and Sessions are filters. A path matches
	// the directory of the session or a file argument of a tool call: any part of it, in
	// whole names. A session is an ID or a prefix of one.
	Roles    []Role
	Tools    []string
	Agents   []string
	Keys     []string
	Sources  []string
	Paths    []string
	Sessions []string
	// Since (inclusive) and Until (exclusive) bound the time of a hit, if not zero.
	Since, Until time.Time
	In           In
	Machines     Machines
	// Limit is the maximum number of hits; zero means DefaultLimit. Before and After are
	// the numbers of items in the window; nil means DefaultContext.
	Limit         int
	Before, After *int
	// Cursor continues an earlier answer to the same query.
	Cursor string
	// Except are sessions to exclude.
	Except []firn.ID
	// Shown excludes hidden entries from hits and windows, for models, which must not see
	// them.
	Shown bool
	// Owners, if not nil, restricts the search to the sessions for which it returns true.
	Owners func(agent, key string) bool `json:"-"`
	// Weights replace those of the features of a question, for measurements.
	Weights *Features `json:"-"`
}

// Hit is a search result with its context.
type Hit struct {
	Session firn.ID
	Entry   firn.EntryID
	// At is the position before the entry, N its number in the session, counting from 1.
	At firn.Pos
	N  int
	// Agent, Key, Source, Title and CWD describe the session.
	Agent, Key, Source, Title, CWD string
	Role                           Role
	// Tools are the tools that were called, or the one that produced the output.
	Tools []string
	Time  time.Time
	// Score is comparable within one answer. Coverage is the share of the query that the
	// hit matches, from 0 to 1, weighted by the rarity of the words.
	Score, Coverage float64
	// Relevance is the estimated probability that the hit is about the query. Unlike Score,
	// it is comparable between queries.
	Relevance float64
	// Features are the features of an answer to a question, and Parts what each adds to the
	// score, by name. PartMachine is negative.
	Features Features
	Parts    map[string]float64
	// Snippet is an excerpt of the text with secrets masked. Matches are the byte ranges of
	// the matches in it.
	Snippet string
	Matches [][2]int
	// Marks are properties of the entry: compacted, hidden, other-branch, archived.
	Marks []string
	// Window is the hit and the surrounding items on its branch, in order.
	Window []Item
	// Copies are other places with the same text: forks and mirrors.
	Copies []Place
}

// Item is an entry in the window of a hit.
type Item struct {
	Entry firn.EntryID
	At    firn.Pos
	N     int
	Role  Role
	Tools []string
	Time  time.Time
	// Text is the beginning of the text; for the hit itself it is the snippet.
	Text string
	// Hit is set for the hit itself.
	Hit bool
}

// Place is the location of an entry.
type Place struct {
	Session firn.ID
	Entry   firn.EntryID
}

// Marks of a hit.
const (
	MarkCompacted   = "compacted"
	MarkHidden      = "hidden"
	MarkOtherBranch = "other-branch"
	MarkArchived    = "archived"
)

// Weight returns the weight of words in a text of a role. Assistant messages with tool
// calls have a higher weight than others.
func Weight(role Role, calls bool) float64 {
	switch {
	case role == RoleSummary:
		return 3.0
	case role == RoleTitle:
		return 2.0
	case role == RoleUser:
		return 1.5
	case role == RoleShell, role == RoleAssistant && calls:
		return 1.3
	}
	return 1.0
}

// Window returns the numbers of items before and after a hit, limited to MaxItems including
// the hit.
func (q *Query) Window() (before, after int) {
	before, after = DefaultContext, DefaultContext
	if q.Before != nil {
		before = *q.Before
	}
	if q.After != nil {
		after = *q.After
	}
	before = min(before, MaxItems-1)
	return before, min(after, MaxItems-1-before)
}
