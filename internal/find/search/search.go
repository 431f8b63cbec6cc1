// Package search decides what it means to find something that was said: what
// the words of a text are ([Scan]), what a query asks for ([Parse]), how well a
// text answers it ([Ranker]), which piece of the text shows it ([Snip]) and
// when two texts are one and the same ([Near]).
//
// It is pure: it reads no file and no clock, and knows no index. Package
// fulltext keeps one and asks here.
package search

import (
	"time"

	"firn.dev"
)

// Bounds of a search. Whatever is asked, an answer is no larger.
const (
	// DefaultLimit is how many hits are told if nobody says, MaxLimit how many
	// at most.
	DefaultLimit, MaxLimit = 20, 100
	// DefaultContext is how many items before and after a hit are told if nobody
	// says; MaxItems is how many a window has at most, with the hit.
	DefaultContext, MaxItems = 4, 16
	// MaxSnippet is how many bytes of a hit are told, MaxItem how many of another
	// item of its window.
	MaxSnippet, MaxItem = 1024, 512
	// MaxQuery is how long a query may be in bytes, MaxWords how many words and
	// phrases it may have.
	MaxQuery, MaxWords = 4096, 64
)

// In says where to look.
type In string

// Where to look. Empty is InTalk.
const (
	// InTalk is what people and models said, summaries and titles.
	InTalk In = "talk"
	// InTools is what tools and commands put out.
	InTools In = "tools"
	// InAll is both.
	InAll In = "all"
)

// Role says what kind of thing was found.
type Role string

// The roles of what can be found.
const (
	RoleUser      Role = "user"
	RoleAssistant Role = "assistant"
	RoleTool      Role = "tool"
	RoleShell     Role = "shell"
	RoleSystem    Role = "system"
	RoleSummary   Role = "summary"
	RoleTitle     Role = "title"
)

// Roles are all of them.
func Roles() []Role {
	return []Role{RoleUser, RoleAssistant, RoleTool, RoleShell, RoleSystem, RoleSummary, RoleTitle}
}

// Query says what to look for. Lists of filters are alternatives; different
// filters must all hold.
type Query struct {
	// Want is what the text must say; nil is anything.
	Want *Node
	// Roles, Tools, Agents, Keys, Sources, Paths and Sessions narrow the search.
	// A path is a directory that the session was begun in, or a file that a tool
	// was called with: any part of it, in whole names. A session is an id or the
	// beginning of one.
	Roles    []Role
	Tools    []string
	Agents   []string
	Keys     []string
	Sources  []string
	Paths    []string
	Sessions []string
	// Since and Until bound the time at which it was said, if they are not zero:
	// not before the one, and before the other.
	Since, Until time.Time
	In           In
	// Limit is how many hits are wanted, zero is DefaultLimit; Before and After
	// how many items of their windows, nil is DefaultContext.
	Limit         int
	Before, After *int
	// Cursor goes on from an earlier answer to the same query.
	Cursor string
	// Except are sessions that nothing is to be found in.
	Except []firn.ID
	// Shown leaves out what is hidden, also around what is found: for models,
	// which are not to see it.
	Shown bool
	// Owners, if it is not nil, says whose sessions may be found.
	Owners func(agent, key string) bool `json:"-"`
}

// Hit is something that was found, with what stands around it.
type Hit struct {
	Session firn.ID
	Entry   firn.EntryID
	// At is the position before the entry, N its number in the session, from 1.
	At firn.Pos
	N  int
	// Agent, Key, Source, Title and CWD tell of the session.
	Agent, Key, Source, Title, CWD string
	Role                           Role
	// Tools names the tools that were called, or the one whose output it is.
	Tools []string
	Time  time.Time
	// Score says how well it fits, for comparison within one answer. Coverage is
	// the share of what was asked for that it has, from 0 to 1, where rare words
	// count more than common ones.
	Score, Coverage float64
	// Snippet is a piece of the text with what was found in it, without secrets;
	// Matches tells where in the snippet, as pairs of bytes.
	Snippet string
	Matches [][2]int
	// Marks tells what has become of it: compacted, hidden, other-branch,
	// archived.
	Marks []string
	// Window is the hit and what stands around it on its branch, in order.
	Window []Item
	// Copies are other places that say the same: forks and mirrors.
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
	// Text is the beginning of what it says; of the hit itself the snippet.
	Text string
	// Hit says that it is the hit itself.
	Hit bool
}

// Place is where an entry stands.
type Place struct {
	Session firn.ID
	Entry   firn.EntryID
}

// The marks of a hit.
const (
	MarkCompacted   = "compacted"
	MarkHidden      = "hidden"
	MarkOtherBranch = "other-branch"
	MarkArchived    = "archived"
)

// Weight is how much a word counts in a text of a role. An assistant's message
// that calls tools counts more than one that only talks.
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

// Window is how many items before and after a hit are wanted: as asked, but
// with the hit no more than MaxItems.
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
