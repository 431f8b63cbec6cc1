package firn

import (
	"encoding/json"
	"strings"
	"time"
	"unicode/utf8"
)

// Entry is one line of a transcript: a message, a change of settings or an operation on
// other entries. Entries form a tree.
type Entry struct {
	// ID is unique within the session. A header has none.
	ID EntryID
	// Parent is the entry that this one follows; empty for a root. When an entry is
	// appended to a store, an empty parent means "after the head" and [Root] starts a new
	// tree.
	Parent EntryID
	// Time is when the entry was written, with millisecond precision.
	Time time.Time
	// Body is the content of the entry.
	Body Body
	// Extra holds members that the dialect has no field for, in file order.
	Extra Fields
}

// NewEntry returns an entry with a new ID and the current time, to be appended after the
// head. If other processes write to the session, its ID and time may be smaller than those
// of its parent. The store assigns ordered values to entries that have none.
func NewEntry(body Body) Entry {
	return Entry{ID: NewEntryID(), Time: now(), Body: body}
}

// now returns the current time with millisecond precision, as files store it.
func now() time.Time { return time.Now().UTC().Truncate(time.Millisecond) }

// UserText returns an entry with a user message. It has no ID and no time: the store
// assigns both on append, in order, even with several concurrent writers.
func UserText(text string) Entry {
	return Entry{Body: &Message{Role: RoleUser, Parts: []Part{Text{Text: text}}}}
}

// AssistantText returns an entry with a complete assistant message. Like [UserText], it
// leaves the ID and the times to the store.
func AssistantText(text string) Entry {
	return Entry{Body: &Message{Role: RoleAssistant, Parts: []Part{Text{Text: text}}, StopReason: StopEnd}}
}

// Hide returns an entry that hides target: a message, a compaction (which undoes the
// compaction) or another tombstone (which restores its target). Like [UserText], it leaves the ID and the
// time to the store.
func Hide(target EntryID) Entry {
	return Entry{Body: &Tombstone{Target: target}}
}

// DirectoryField is the name of an extra field of a message entry: the working directory of
// the message, if it differs from the session's previous one. See [DirectoryOf].
const DirectoryField = "directory"

// maxDirectory is the maximum length of a directory in bytes.
const maxDirectory = 4096

// DirectoryOf returns the working directory recorded in an entry. It returns an empty
// string if there is none or it is invalid.
func DirectoryOf(e Entry) string {
	var dir string
	if raw := e.Extra.Get(DirectoryField); raw == nil || json.Unmarshal(raw, &dir) != nil || !ValidDirectory(dir) {
		return ""
	}
	return dir
}

// ValidDirectory reports whether dir is acceptable as a directory: not empty, at most 4,096
// bytes long and without control characters.
func ValidDirectory(dir string) bool {
	control := func(r rune) bool { return r < ' ' || r == 0x7f || r == utf8.RuneError }
	return dir != "" && len(dir) <= maxDirectory && strings.IndexFunc(dir, control) < 0
}

// Field is one member of a JSON object with an unknown meaning.
type Field struct {
	Name  string
	Value json.RawMessage
}

// Fields are the unknown members of a JSON object in their original order. It is a slice,
// not a map, so that the order survives rewriting.
type Fields []Field

// Get returns the value of the first field called name, or nil.
func (f Fields) Get(name string) json.RawMessage {
	for _, field := range f {
		if field.Name == name {
			return field.Value
		}
	}
	return nil
}

// Body is the content of an entry. The set is closed: the types in this file, [*Message],
// and [*Opaque] for everything else.
type Body interface {
	// Kind returns the entry's type as encoded in the native dialect.
	Kind() Kind
}

// Kind is the type of an entry, as encoded in the native dialect.
type Kind string

// The kinds of entries that have their own body type.
const (
	KindHeader         Kind = "session"
	KindMessage        Kind = "message"
	KindCompaction     Kind = "compaction"
	KindBranchSummary  Kind = "branch_summary"
	KindTombstone      Kind = "tombstone"
	KindLabel          Kind = "label"
	KindTitle          Kind = "session_info"
	KindModelChange    Kind = "model_change"
	KindThinkingChange Kind = "thinking_level_change"
	KindCustom         Kind = "custom"
	KindCustomMessage  Kind = "custom_message"
	KindHead           Kind = "head"
	// KindErased is the kind of the placeholder that a purge leaves. It is read as Opaque.
	KindErased Kind = "erased"
)

// Header is the first line of a transcript and never changes. It is not part of the tree.
type Header struct {
	// Session is the ID of the session.
	Session ID
	// Version is the version of the pi session format; firn writes 3.
	Version int
	// Firn is the version of firn's additions; 0 in files written by other programs.
	Firn int
	// CWD is the directory the session was started in.
	CWD string
	// ParentSession is the source of a fork: a path or an ID.
	ParentSession string
	// Agent and Key identify the owner of the session; empty in files written by other
	// programs.
	Agent, Key string
}

// Compaction replaces the part of the branch before FirstKept: the model is sent Summary
// instead. An unknown FirstKept keeps nothing.
type Compaction struct {
	Summary      string
	FirstKept    EntryID
	TokensBefore int64
	// Details is arbitrary JSON from the compactor. The native dialect interprets its member
	// "state" (see [State]).
	Details  json.RawMessage
	FromHook bool
}

// State holds the settings in effect before a compaction. A compaction stores it in
// details.state, so that a reader does not have to read further back.
type State struct {
	Provider      string `json:"provider,omitempty"`
	Model         string `json:"modelId,omitempty"`
	ThinkingLevel string `json:"thinkingLevel,omitempty"`
	// Verbose is the verbosity of the agent, as set by a [Custom] entry of type
	// [VerboseType].
	Verbose string `json:"verboseLevel,omitempty"`
	// Send is the policy for sending answers to the channel of the session, as set by a
	// [Custom] entry of type [SendType].
	Send string `json:"sendPolicy,omitempty"`
	// Auth is the credential profile for provider requests, as PROVIDER/PROFILE, set by a
	// [Custom] entry of type [AuthType].
	Auth string `json:"authProfile,omitempty"`
}

// AuthType is the type of a [Custom] entry that selects the credentials for the session's
// turns. Its data is an object with the member "profile": PROVIDER/PROFILE.
const AuthType = "firn.auth"

// VerboseType is the type of a [Custom] entry that sets the verbosity of the agent. Its
// data is an object with the member "level".
const VerboseType = "firn.verbose"

// DefaultType is the type of a [Custom] entry that resets settings of the session to the
// agent's defaults. Its member "what" lists them: model, thinking, verbose and auth.
const DefaultType = "firn.default"

// SendType is the type of a [Custom] entry that sets whether answers may be sent. Its data
// is an object with the member "policy": allow, deny or inherit.
const SendType = "firn.send"

// TagsType is the type of a [Custom] entry that replaces the tags of a session: {"tags":
// [names]}.
const TagsType = "firn.tags"

// CountersType is the type of a [Custom] entry that records a session's usage so far at the
// end of each turn, so that it can be read without reading the whole session.
const CountersType = "firn.counters"

// DraftType is the type of [Custom] entries that store an answer while it streams, one
// chunk each. The complete answer is stored again as a message, which supersedes them.
// Chunks without such a message are an answer that a crash cut off.
const DraftType = "firn.draft"

// BranchSummary summarizes an abandoned branch.
type BranchSummary struct {
	From     EntryID
	Summary  string
	Details  json.RawMessage
	FromHook bool
}

// Tombstone hides its target, wherever in the tree the two are. The tombstone of a
// compaction undoes it; the tombstone of a tombstone restores the hidden entry.
type Tombstone struct {
	// Target is an entry, or the session's ID to hide the whole session.
	Target EntryID
	Reason string
}

// Label names an entry; an empty name removes the label.
type Label struct {
	Target EntryID
	Name   string
}

// Source is the origin of a title.
type Source string

// The sources of titles. An automatic title never replaces one set by the user.
const (
	SourceUser Source = "user"
	SourceAuto Source = "auto"
)

// Title sets the title of the session.
type Title struct {
	Name string
	// Source is empty in files written by other programs, which means the user.
	Source Source
}

// Beats reports whether t, written later, replaces old.
func (t Title) Beats(old Title) bool {
	return t.Source != SourceAuto || old.Source == SourceAuto || old.Name == ""
}

// ModelChange selects the model for the following turns.
type ModelChange struct {
	Provider, Model string
}

// ThinkingChange sets the thinking level for the following turns.
type ThinkingChange struct {
	Level string
}

// Custom stores private state of a program in the log. It is never sent to a model.
type Custom struct {
	Type string
	Data json.RawMessage
}

// CustomMessage is text that a program adds for the model.
type CustomMessage struct {
	Type    string
	Parts   []Part
	Display bool
	Details json.RawMessage
}

// Head moves the head of the session to its parent: the next entry follows that one.
// Because the entry itself is the last line, every reader of the format ends up on the
// right branch.
type Head struct {
	Reason string
}

// Opaque is an entry of an unknown kind. It keeps its place in the tree and its bytes.
type Opaque struct {
	Type Kind
	// Raw is the whole line, without the newline.
	Raw json.RawMessage
}

// Kind returns KindHeader.
func (*Header) Kind() Kind { return KindHeader }

// Kind returns KindCompaction.
func (*Compaction) Kind() Kind { return KindCompaction }

// Kind returns KindBranchSummary.
func (*BranchSummary) Kind() Kind { return KindBranchSummary }

// Kind returns KindTombstone.
func (*Tombstone) Kind() Kind { return KindTombstone }

// Kind returns KindLabel.
func (*Label) Kind() Kind { return KindLabel }

// Kind returns KindTitle.
func (*Title) Kind() Kind { return KindTitle }

// Kind returns KindModelChange.
func (*ModelChange) Kind() Kind { return KindModelChange }

// Kind returns KindThinkingChange.
func (*ThinkingChange) Kind() Kind { return KindThinkingChange }

// Kind returns KindCustom.
func (*Custom) Kind() Kind { return KindCustom }

// Kind returns KindCustomMessage.
func (*CustomMessage) Kind() Kind { return KindCustomMessage }

// Kind returns KindHead.
func (*Head) Kind() Kind { return KindHead }

// Kind returns the kind as stored in the file.
func (o *Opaque) Kind() Kind { return o.Type }
