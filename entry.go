package firn

import (
	"encoding/json"
	"strings"
	"time"
	"unicode/utf8"
)

// Entry is one line of a transcript: something that was said, done or decided,
// hung under the entry it follows.
type Entry struct {
	// ID is unique within the session. A header has none.
	ID EntryID
	// Parent is the entry this one follows; empty for a root. When an entry is
	// handed to a store, an empty parent means "after the head" and [Root]
	// begins a new tree.
	Parent EntryID
	// Time is when it was written, to the millisecond.
	Time time.Time
	// Body is what the entry says.
	Body Body
	// Extra holds what a dialect read and has no field for, in file order.
	Extra Fields
}

// NewEntry makes an entry that a store can append: it has an id and the
// present time, and will follow the head. If others write to the session, its id
// and its time may be smaller than those of the entry that it comes to follow;
// an entry without them gets its own in order, from the store.
func NewEntry(body Body) Entry {
	return Entry{ID: NewEntryID(), Time: now(), Body: body}
}

// now is the present as files keep it: to the millisecond.
func now() time.Time { return time.Now().UTC().Truncate(time.Millisecond) }

// UserText makes an entry in which the user says text. It has no id and no time:
// the store gives it both when it gets its place, so that they are in order however
// many write to the session.
func UserText(text string) Entry {
	return Entry{Body: &Message{Role: RoleUser, Parts: []Part{Text{Text: text}}}}
}

// AssistantText makes an entry in which the assistant says text and stops. Like
// [UserText] it leaves the id and the times to the store.
func AssistantText(text string) Entry {
	return Entry{Body: &Message{Role: RoleAssistant, Parts: []Part{Text{Text: text}}, StopReason: StopEnd}}
}

// Hide makes an entry that hides target: a message, a compaction (which undoes
// it) or another tombstone (which restores what that one hid). Like [UserText] it
// leaves the id and the time to the store.
func Hide(target EntryID) Entry {
	return Entry{Body: &Tombstone{Target: target}}
}

// DirectoryField is the name of an extra field of a message's entry: the directory it was
// said in, if that is another one than the session knew before. See [DirectoryOf].
const DirectoryField = "directory"

// maxDirectory bounds a directory that counts, in bytes.
const maxDirectory = 4096

// DirectoryOf returns the directory that an entry says it was said in; empty if it says
// none, or none that can be one.
func DirectoryOf(e Entry) string {
	var dir string
	if raw := e.Extra.Get(DirectoryField); raw == nil || json.Unmarshal(raw, &dir) != nil || !ValidDirectory(dir) {
		return ""
	}
	return dir
}

// ValidDirectory reports whether a text can be a directory: it is not empty, not longer than
// 4,096 bytes, and has no control characters.
func ValidDirectory(dir string) bool {
	control := func(r rune) bool { return r < ' ' || r == 0x7f || r == utf8.RuneError }
	return dir != "" && len(dir) <= maxDirectory && strings.IndexFunc(dir, control) < 0
}

// Field is one member of a JSON object whose meaning we do not know.
type Field struct {
	Name  string
	Value json.RawMessage
}

// Fields are members of a JSON object in the order they stood there. A slice
// and not a map, so that writing them back keeps their order.
type Fields []Field

// Get returns the value of the first field with that name, or nil.
func (f Fields) Get(name string) json.RawMessage {
	for _, field := range f {
		if field.Name == name {
			return field.Value
		}
	}
	return nil
}

// Body is what an entry says. The set is closed: the types of this file,
// [*Message], and [*Opaque] for everything else.
type Body interface {
	// Kind is the entry's type as files of the native dialect spell it.
	Kind() Kind
}

// Kind is the type of an entry, as spelt in files of the native dialect.
type Kind string

// The kinds of entries that have a body type of their own.
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
	// KindErased is the kind of the gap that a purge leaves. It reads as Opaque.
	KindErased Kind = "erased"
)

// Header begins a transcript and never changes. It is not part of the tree.
type Header struct {
	// Session is the session's id.
	Session ID
	// Version is the version of the pi session format; 3 for what we write.
	Version int
	// Firn is the version of our additions; 0 in files that others wrote.
	Firn int
	// CWD is the directory the session was started in.
	CWD string
	// ParentSession is where a fork came from: a path or an id.
	ParentSession string
	// Agent and Key say whose session it is; empty in files that others wrote.
	Agent, Key string
}

// Compaction stands for all of the branch before FirstKept: a model sees
// Summary instead. An unknown FirstKept keeps nothing.
type Compaction struct {
	Summary      string
	FirstKept    EntryID
	TokensBefore int64
	// Details is whatever the compactor wants to remember, as JSON. The native
	// dialect understands a member "state" (see [State]).
	Details  json.RawMessage
	FromHook bool
}

// State is what the path before a compaction had settled. A compaction carries
// it in details.state, so that a reader need not go further back.
type State struct {
	Provider      string `json:"provider,omitempty"`
	Model         string `json:"modelId,omitempty"`
	ThinkingLevel string `json:"thinkingLevel,omitempty"`
	// Verbose is how much of its doings the agent shows, as a [Custom] entry of
	// type [VerboseType] settled it.
	Verbose string `json:"verboseLevel,omitempty"`
	// Send is whether answers may be sent to where the session's messages come
	// from, as a [Custom] entry of type [SendType] settled it.
	Send string `json:"sendPolicy,omitempty"`
	// Auth is the profile of credentials that the provider is asked with, as
	// PROVIDER/PROFILE, as a [Custom] entry of type [AuthType] settled it.
	Auth string `json:"authProfile,omitempty"`
}

// AuthType is the type of a [Custom] entry that settles which credentials the session's
// turns use. Its data is an object with the member "profile": PROVIDER/PROFILE.
const AuthType = "firn.auth"

// VerboseType is the type of a [Custom] entry that settles how verbose the
// agent is. Its data is an object with the member "level".
const VerboseType = "firn.verbose"

// DefaultType is the type of a [Custom] entry that takes choices of the session back: its
// member "what" names them, of model, thinking, verbose and auth. What the agent does otherwise
// holds again.
const DefaultType = "firn.default"

// SendType is the type of a [Custom] entry that settles whether answers may be
// sent. Its data is an object with the member "policy": allow, deny or inherit.
const SendType = "firn.send"

// TagsType is the type of a [Custom] entry that says which tags a session has
// from then on: {"tags": [names]}.
const TagsType = "firn.tags"

// CountersType is the type of a [Custom] entry that says what a session has used
// so far, at the end of each turn, so that nobody need read it all.
const CountersType = "firn.counters"

// DraftType is the type of [Custom] entries in which an answer is kept while it comes,
// each with the next piece. The answer itself, once whole, says it all again and is what
// counts; pieces without one tell of an answer that was cut off by a crash.
const DraftType = "firn.draft"

// BranchSummary tells in short what happened on a branch that was left.
type BranchSummary struct {
	From     EntryID
	Summary  string
	Details  json.RawMessage
	FromHook bool
}

// Tombstone hides its target, wherever in the tree either of them is. On a
// compaction it undoes it; on a tombstone it restores what that one hid.
type Tombstone struct {
	// Target is an entry, or the session's id to hide the session as a whole.
	Target EntryID
	Reason string
}

// Label gives a name to an entry; an empty name takes it away.
type Label struct {
	Target EntryID
	Name   string
}

// Source says who chose a title.
type Source string

// Who chose a title. A title by the user is never replaced by an automatic one.
const (
	SourceUser Source = "user"
	SourceAuto Source = "auto"
)

// Title names the session.
type Title struct {
	Name string
	// Source is empty in files that others wrote, which means the user.
	Source Source
}

// Beats reports whether t, written later, replaces old.
func (t Title) Beats(old Title) bool {
	return t.Source != SourceAuto || old.Source == SourceAuto || old.Name == ""
}

// ModelChange says which model answers from here on.
type ModelChange struct {
	Provider, Model string
}

// ThinkingChange says how hard the model shall think from here on.
type ThinkingChange struct {
	Level string
}

// Custom keeps a program's own state in the log. A model never sees it.
type Custom struct {
	Type string
	Data json.RawMessage
}

// CustomMessage is text that a program puts before the model.
type CustomMessage struct {
	Type    string
	Parts   []Part
	Display bool
	Details json.RawMessage
}

// Head moves the head of the session to its parent: the next entry follows
// that one. Since the entry itself is the last line, every reader of the
// format lands on the right branch.
type Head struct {
	Reason string
}

// Opaque is an entry of a kind we do not know. It keeps its place in the tree
// and its bytes.
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

// Kind returns the kind the file gave it.
func (o *Opaque) Kind() Kind { return o.Type }
