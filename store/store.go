// Package store says what it means to keep sessions.
//
// A [Store] appends entries to sessions and reads them back, forwards,
// backwards or live. Members of the family keep them in plain files
// (filestore), in memory (memstore) or in a cluster. What not every store can
// do is a small interface of its own, such as [Keyed] or [Remover].
//
// The package holds the contract and the decisions that are the same for every
// store. It keeps nothing itself and imports no member.
package store

import (
	"context"
	"fmt"
	"iter"
	"math"
	"slices"
	"strings"
	"time"

	"firn.dev"
)

// Pos is a place between the entries of a session.
type Pos = firn.Pos

// Record is an entry where it stands in its session.
type Record = firn.Record

const (
	// Start is before the first entry. Expecting it means: only if the session is new.
	Start Pos = 0
	// Any is passed to Append to write at the end, wherever that is. It is not a position.
	Any Pos = math.MaxUint64 - 1
	// End is the position after the last entry, for reading. Append never accepts it.
	End Pos = math.MaxUint64
)

// Store keeps sessions. All methods may be called from many goroutines, and
// several processes may have the same store open.
type Store interface {
	// Append adds entries at the end of the session if the end is still at
	// expect ([Any]: wherever it is; [Start]: only if the session is new), and
	// returns the new end. Otherwise nothing is written and the error is an
	// ErrConflict of type *[Conflict] that tells where the end is.
	//
	// A session begins with its header: if the first entry of a new session is
	// none, the store writes one. An entry without an id gets one, without a
	// time the present, without a parent the entry before it. An entry that
	// names a parent or target which is not there is refused with ErrNotFound,
	// one that makes no sense with ErrInvalid; then none of them is written.
	// See [Prepare] for the rules. Without entries nothing is written either,
	// but the position is checked.
	//
	// When Append returns, the entries are durable. If it fails they are not
	// to be counted on; a crash may keep a prefix of them, never part of one.
	// Failing to write is ErrNotSaved, with the cause: nothing is there. If it
	// failed so that the entries may be there it is an ErrUnknownOutcome too; then
	// look for them, and use [Confirm] before they are counted on.
	Append(ctx context.Context, id firn.ID, expect Pos, entries ...firn.Entry) (Pos, error)

	// Read yields the records after a position, oldest first, up to the end at
	// the time it gets there. Damage is yielded as a record with a gap, and
	// reading goes on behind it. Who reads a file while somebody appends to it
	// may see the line that is being written as a torn last record without
	// extent: [firn.Gap.Unfinished]. An error ends the sequence: ErrNotFound if
	// there is no such session, the context's if it is done.
	Read(ctx context.Context, id firn.ID, after Pos) iter.Seq2[Record, error]

	// ReadBack yields the records before a position, newest first. It reads
	// from the medium only about as much as is asked of it. Ranging over the
	// sequence again reads again.
	ReadBack(ctx context.Context, id firn.ID, before Pos) iter.Seq2[Record, error]

	// Follow yields the records after a position, oldest first, and then those
	// that are added, as they come, until the context is done (which is not an
	// error) or something fails. Other processes' appends are seen too. Closing
	// the store ends it with ErrClosed.
	Follow(ctx context.Context, id firn.ID, after Pos) iter.Seq2[Record, error]

	// List yields what is known of the sessions that match, those with the
	// latest entry first, and among equals by id.
	List(ctx context.Context, q Query) iter.Seq2[Info, error]

	// Close waits for what is under way and frees the store. Using it
	// afterwards is ErrClosed.
	Close() error
}

// Query selects sessions. The zero query selects all that are neither
// archived nor hidden.
type Query struct {
	// Agent and Key select by owner if not empty: the key that a session was begun
	// for, or one that points at it.
	Agent, Key string
	// Limit bounds the number of answers if not zero.
	Limit int
	// Archived and Hidden ask for those instead of the plain ones; both
	// together for those that are both.
	Archived, Hidden bool
	// Source and Tag select by where a session is from ([OwnSource]: from
	// nowhere else; a tool: from any folder of it) and by a tag that it has, if
	// not empty.
	Source, Tag string
	// Since and Until select by the time of the latest entry if not zero: from
	// the one on, and before the other.
	Since, Until time.Time
	// Directory selects by where a session was begun, or something was said in it, if not
	// empty.
	Directory string
	// Text must be in the title, the prompt or the key, in whatever case, if not
	// empty.
	Text string
}

// OwnSource is what a query calls the source of sessions that are our own.
const OwnSource = "firn"

// Matches reports whether the query selects the session.
func (q Query) Matches(info Info) bool {
	return (q.Agent == "" || q.Agent == info.Agent) && (q.Key == "" || info.hasKey(q.Key)) &&
		q.Archived == info.Archived && q.Hidden == info.Hidden &&
		(q.Source == "" || q.from(info.Source)) &&
		(q.Tag == "" || info.Tagged(q.Tag)) &&
		(q.Since.IsZero() || !info.Updated.Before(q.Since)) && (q.Until.IsZero() || info.Updated.Before(q.Until)) &&
		(q.Directory == "" || info.wasIn(q.Directory)) && (q.Text == "" || q.says(&info))
}

// wasIn reports whether a session was begun in a directory, or something was said there.
func (i *Info) wasIn(dir string) bool {
	return i.CWD == dir || i.Directories != "" && slices.Contains(strings.Split(i.Directories, "\n"), dir)
}

// Directory returns the directory in which something was said last, as far as the session
// knows; where it was begun if nothing else is known.
func (i *Info) Directory() string {
	if i.Directories == "" {
		return i.CWD
	}
	return i.Directories[strings.LastIndexByte(i.Directories, '\n')+1:]
}

// from reports whether the query selects a source: the one it names, all those
// of the tool it names, or none if our own are asked for.
func (q *Query) from(source string) bool {
	return q.Source == source || source == "" && q.Source == OwnSource || strings.HasPrefix(source, q.Source+"-")
}

// says reports whether the text is in what a list tells of a session.
func (q *Query) says(info *Info) bool {
	text := strings.ToLower(q.Text)
	return strings.Contains(strings.ToLower(info.Title), text) || strings.Contains(strings.ToLower(info.Prompt), text) ||
		strings.Contains(strings.ToLower(info.Key), text)
}

// Info is what a list shows of a session. It says what all entries of the session do,
// see [Checkpoint]. Key is the one that the session was begun for.
type Info struct {
	ID         firn.ID
	Agent, Key string
	// CWD is the directory that the session was begun in; Directories are those that
	// messages were said in besides, one a line, the latest last.
	CWD, Directories string
	// Held spells the keys that point at the session, see [Info.Claims].
	Held string
	// Source is where it is read from if it is not our own; Tags are what people
	// have put on it, as [JoinTags] spells them.
	Source, Tags string
	// Counts are those of the end of the latest turn that was found.
	Counts Counts
	// Title is the latest title found; Prompt the beginning of the first thing
	// the user said.
	Title, Prompt string
	Created       time.Time
	// Updated is the time of the latest entry, not of the file. Entries that only say
	// that a key points at another session do not count.
	Updated time.Time
	// Bytes is the size of the transcript, Parts the number of its files.
	Bytes int64
	Parts int
	End   Pos
	// Archived and Hidden sessions are not listed unless asked for.
	Archived, Hidden bool
	// Fault says what is wrong with the session if it cannot be read.
	Fault string
}

// Conflict tells that the end of a session is not where it was expected.
type Conflict struct {
	ID          firn.ID
	Expect, End Pos
}

// Error says where the end was expected and where it is.
func (c *Conflict) Error() string {
	if c.Expect == Start {
		return fmt.Sprintf("append to session %s: it exists already, with its end at %d", c.ID, c.End)
	}
	return fmt.Sprintf("append to session %s: the end is at %d, expected at %d", c.ID, c.End, c.Expect)
}

// Unwrap makes a conflict an ErrConflict.
func (c *Conflict) Unwrap() error { return firn.ErrConflict }
