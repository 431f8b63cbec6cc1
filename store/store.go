// Package store defines how sessions are stored.
//
// A [Store] appends entries to sessions and reads them forwards, backwards or live.
// Implementations store them in plain files (filestore), in memory (memstore) or in a
// cluster (jetstream). Optional features are small interfaces, such as [Keyed] or
// [Remover].
//
// The package contains the interfaces and the logic that all stores share. It stores
// nothing itself and imports no implementation.
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

// Pos is a position between the entries of a session.
type Pos = firn.Pos

// Record is an entry with its position in the session.
type Record = firn.Record

const (
	// Start is the position before the first entry. As an expected position it requires
	// that the session is new.
	Start Pos = 0
	// Any makes Append write at the current end. It is not a position.
	Any Pos = math.MaxUint64 - 1
	// End is the position after the last entry, for reading. Append does not accept it.
	End Pos = math.MaxUint64
)

// Store stores sessions. All methods are safe for concurrent use, and several processes may
// open the same store.
type Store interface {
	// Append adds entries to a session if its end is at expect ([Any]: anywhere; [Start]:
	// the session must be new), and returns the new end. Otherwise it writes nothing and
	// returns an ErrConflict of type *[Conflict] with the current end.
	//
	// A session starts with a header. If the first entry of a new session is not a header,
	// the store adds one. A missing ID, time or parent is filled in: a new ID, the current
	// time, the preceding entry. An entry with an unknown parent or target fails with
	// ErrNotFound, an invalid entry with ErrInvalid; nothing is written in that case. See
	// [Prepare] for the rules. Without entries Append only checks the position.
	//
	// When Append returns, the entries are durable. If it fails, a crash may still leave a
	// prefix of them, but never part of an entry. A failed write returns ErrNotSaved with
	// the cause: nothing was stored. If the entries may have been stored, the error is also
	// an ErrUnknownOutcome; check whether they exist, and call [Confirm] before relying on
	// them.
	Append(ctx context.Context, id firn.ID, expect Pos, entries ...firn.Entry) (Pos, error)

	// Read yields the records after a position, oldest first, up to the end of the session.
	// Damage is yielded as a record with a gap, and reading continues after it. A reader
	// concurrent with a writer may see the line being written as a torn last record without
	// extent: [firn.Gap.Unfinished]. An error ends the sequence: ErrNotFound if the session
	// does not exist, or the context's error.
	Read(ctx context.Context, id firn.ID, after Pos) iter.Seq2[Record, error]

	// ReadBack yields the records before a position, newest first. It reads from disk only
	// about as much as is consumed. Ranging over the sequence again reads again.
	ReadBack(ctx context.Context, id firn.ID, before Pos) iter.Seq2[Record, error]

	// Follow yields the records after a position, oldest first, and then new records as
	// they are appended by any process, until the context is done (not an error) or an
	// error occurs. Closing the store ends it with ErrClosed.
	Follow(ctx context.Context, id firn.ID, after Pos) iter.Seq2[Record, error]

	// List yields the infos of matching sessions, latest entry first, then by ID.
	List(ctx context.Context, q Query) iter.Seq2[Info, error]

	// Close waits for running calls and releases all resources. Later calls return
	// ErrClosed.
	Close() error
}

// Query selects sessions. The zero value selects all that are neither archived nor hidden.
type Query struct {
	// Agent and Key select by owner if not empty. Key matches the key a session was created
	// for and any key bound to it.
	Agent, Key string
	// Limit is the maximum number of results; zero means no limit.
	Limit int
	// Archived and Hidden select archived or hidden sessions instead. If both are set,
	// sessions must be both.
	Archived, Hidden bool
	// Source selects by origin if not empty: [OwnSource] for native sessions, a tool for
	// all of its folders. Tag selects by tag if not empty.
	Source, Tag string
	// Since (inclusive) and Until (exclusive) select by the time of the latest entry if not
	// zero.
	Since, Until time.Time
	// Directory selects sessions created or used in a directory, if not empty.
	Directory string
	// Under selects sessions created or used in a directory or one below it, if not empty.
	Under string
	// Text selects sessions whose title, prompt or key contains it, ignoring case, if not
	// empty.
	Text string
	// NonEmpty leaves out empty sessions, see [Info.Empty].
	NonEmpty bool
}

// OwnSource is the value of Query.Source for native sessions.
const OwnSource = "firn"

// Matches reports whether the query selects the session.
func (q Query) Matches(info Info) bool {
	return (q.Agent == "" || q.Agent == info.Agent) && (q.Key == "" || info.hasKey(q.Key)) &&
		q.Archived == info.Archived && q.Hidden == info.Hidden && !(q.NonEmpty && info.Empty && info.Fault == "") &&
		(q.Source == "" || q.matchesSource(info.Source)) &&
		(q.Tag == "" || info.Tagged(q.Tag)) &&
		(q.Since.IsZero() || !info.Updated.Before(q.Since)) && (q.Until.IsZero() || info.Updated.Before(q.Until)) &&
		(q.Directory == "" || info.usedDirectory(q.Directory)) && (q.Under == "" || info.usedUnder(q.Under)) && (q.Text == "" || q.matchesText(&info))
}

// usedDirectory reports whether a session was created or used in a directory.
func (i *Info) usedDirectory(dir string) bool {
	return i.CWD == dir || i.Directories != "" && slices.Contains(strings.Split(i.Directories, "\n"), dir)
}

// usedUnder reports whether a session was created or used in a directory or below it.
func (i *Info) usedUnder(root string) bool {
	below := func(dir string) bool {
		rest, ok := strings.CutPrefix(dir, strings.TrimRight(root, `/\`))
		return ok && dir != "" && (rest == "" || rest[0] == '/' || rest[0] == '\\')
	}
	return below(i.CWD) || i.Directories != "" && slices.ContainsFunc(strings.Split(i.Directories, "\n"), below)
}

// Directory returns the directory of the latest message that records one, or else the
// directory in which the session was created.
func (i *Info) Directory() string {
	if i.Directories == "" {
		return i.CWD
	}
	return i.Directories[strings.LastIndexByte(i.Directories, '\n')+1:]
}

// matchesSource reports whether the query selects a source: the same source, any folder of
// the same tool, or native sessions.
func (q *Query) matchesSource(source string) bool {
	return q.Source == source || source == "" && q.Source == OwnSource || strings.HasPrefix(source, q.Source+"-")
}

// matchesText reports whether the title, prompt or key contains the text.
func (q *Query) matchesText(info *Info) bool {
	text := strings.ToLower(q.Text)
	return strings.Contains(strings.ToLower(info.Title), text) || strings.Contains(strings.ToLower(info.Prompt), text) ||
		strings.Contains(strings.ToLower(info.Key), text)
}

// Info is the list row of a session. It reflects all entries of the session, see
// [Checkpoint]. Key is the key the session was created for.
type Info struct {
	ID         firn.ID
	Agent, Key string
	// CWD is the directory the session was created in. Directories are the directories
	// recorded in messages, one per line, latest last.
	CWD, Directories string
	// BoundKeys encodes the keys bound to the session, see [Info.Claims].
	BoundKeys string
	// Source is the origin of a foreign session; empty for native sessions. Tags are the
	// session's tags in the format of [JoinTags].
	Source, Tags string
	// Imported is the name of the tool that a native session was imported from, such as
	// claudecode; empty if it was not.
	Imported string
	// Counts are the counters of the latest finished turn.
	Counts Counts
	// Title is the latest title, Prompt the beginning of the user's first message, without
	// the tags and notes that tools add to it.
	Title, Prompt string
	Created       time.Time
	// Updated is the time of the latest entry, not of the file. Entries that only move a
	// key to another session do not count.
	Updated time.Time
	// Bytes is the size of the transcript, Parts the number of its files.
	Bytes int64
	Parts int
	End   Pos
	// Archived and Hidden sessions are listed only on request.
	Archived, Hidden bool
	// Empty is set if the session has only a header, settings, records of its keys, and
	// tombstones: it has no messages and no title. It is never set for a session
	// of another tool.
	Empty bool
	// Fault describes why the session cannot be read; empty if it can.
	Fault string
}

// Conflict reports that the end of a session is not at the expected position.
type Conflict struct {
	ID          firn.ID
	Expect, End Pos
}

// Error implements error.
func (c *Conflict) Error() string {
	if c.Expect == Start {
		return fmt.Sprintf("append to session %s: it exists already, with its end at %d", c.ID, c.End)
	}
	return fmt.Sprintf("append to session %s: the end is at %d, expected at %d", c.ID, c.End, c.Expect)
}

// Unwrap returns firn.ErrConflict.
func (c *Conflict) Unwrap() error { return firn.ErrConflict }
