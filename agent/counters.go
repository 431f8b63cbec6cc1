package agent

import (
	"context"
	"encoding/json"
	"time"

	"firn.dev"
	"firn.dev/compact"
	"firn.dev/provider"
	"firn.dev/store"
)

// Counters are the total usage of a session: every answer counts once, on whichever branch
// it is, and so do model calls outside of turns.
type Counters struct {
	Input      int64   `json:"input"`
	Output     int64   `json:"output"`
	CacheRead  int64   `json:"cacheRead"`
	CacheWrite int64   `json:"cacheWrite"`
	Cost       float64 `json:"cost"`
	// Answers is the number of answers; those of one compaction count as one.
	Answers int `json:"answers"`
	// Turns is the number of user messages.
	Turns int `json:"turns"`
	// Compactions is the number of compactions, including undone ones.
	Compactions int `json:"compactions"`
	// Window is the last reported size of the conversation in tokens; zero if unknown, as
	// after a compaction.
	Window int64 `json:"window"`
	// Messages is the number of messages of all roles. Active is the total duration of the
	// turns in milliseconds, by the times in the log.
	Messages int   `json:"messages"`
	Active   int64 `json:"activeMs"`
	// Last is the time of the last message in milliseconds since 1970.
	Last int64 `json:"lastMs,omitempty"`
}

// Total returns the sum of all tokens.
func (c Counters) Total() int64 { return c.Input + c.Output + c.CacheRead + c.CacheWrite }

// The types of entries with counts: for the session so far, and for a model call whose
// answer is not in the log.
const (
	countersType = firn.CountersType
	usageType    = "firn.usage"
)

// usageRecord is the usage of a model call whose answer is not in the log.
type usageRecord struct {
	Purpose  provider.Purpose `json:"purpose"`
	Provider string           `json:"provider"`
	Model    string           `json:"model"`
	Usage    compact.Usage    `json:"usage"`
}

func usageEntry(purpose provider.Purpose, info provider.Info, u firn.Usage) firn.Entry {
	return customEntry(usageType, usageRecord{purpose, info.Provider, info.Name, usageJSON(u)})
}

// usageJSON converts a usage to the form used in records.
func usageJSON(u firn.Usage) compact.Usage {
	return compact.Usage{
		Input: u.Input, Output: u.Output, CacheRead: u.CacheRead, CacheWrite: u.CacheWrite, Total: u.Total, Cost: compact.Cost(u.Cost),
	}
}

// customEntry returns a Custom entry, which is never sent to a model.
func customEntry(kind string, data any) firn.Entry {
	return firn.NewEntry(&firn.Custom{Type: kind, Data: mustJSON(data)})
}

// countersRecord is the record written at the end of a turn. In addition to the counts it
// contains a checkpoint, so that listing a session does not require earlier entries.
type countersRecord struct {
	Counters
	// Entries is the number of entries before this one, from which a reader of the tail
	// derives entry numbers; zero if unknown.
	Entries int `json:"entries,omitempty"`
	// Left are the ends of abandoned branches.
	Left  []firn.EntryID   `json:"left,omitempty"`
	Names store.Checkpoint `json:"names"`
}

// Count returns the usage of a session. It reads back to the end of the latest turn; a
// session without counts is read completely.
func Count(ctx context.Context, st store.Store, id firn.ID) (Counters, error) {
	c, _, err := CountBranches(ctx, st, id)
	return c, err
}

// CountBranches is like Count and also returns the number of branch ends: entries without
// children.
func CountBranches(ctx context.Context, st store.Store, id firn.ID) (Counters, int, error) {
	t, err := count(ctx, st, id, store.End)
	return t.Counters, t.ends.count(), err
}

// CountersEntry returns an entry with the usage of a session up to a position and its
// current names. It can replace the counts stored before that position.
func CountersEntry(ctx context.Context, st store.Store, id firn.ID, end firn.Pos, names store.Names) (firn.Entry, error) {
	t, err := count(ctx, st, id, end)
	t.Names.Names = names
	return customEntry(countersType, t.record()), err
}

// Add counts the next entry of the session.
func (c *Counters) Add(e firn.Entry) {
	switch b := e.Body.(type) {
	case *firn.Message:
		c.message(b.Role, e.Time)
		if b.Role == firn.RoleAssistant && b.Usage != nil {
			c.add(usageJSON(*b.Usage))
			c.Window = b.Usage.Context()
		}
	case *firn.CustomMessage:
		if e.Extra.Get("by") != nil { // a message from a program starts a turn like one from a person
			c.message(firn.RoleUser, e.Time)
		}
	case *firn.Compaction:
		c.Compactions++
		c.Window = 0
		if usage := compact.DetailsOf(b).Usage; usage != nil {
			c.add(*usage)
		}
	case *firn.BranchSummary:
		if usage := compact.DetailsOf(&firn.Compaction{Details: b.Details}).Usage; usage != nil {
			c.add(*usage)
		}
	case *firn.Custom:
		var record usageRecord
		if b.Type == usageType && json.Unmarshal(b.Data, &record) == nil {
			c.add(record.Usage)
		}
	}
}

// pause is the gap between messages beyond which the time does not count as part of a turn:
// an interrupted turn may be resumed the next day.
const pause = time.Hour

// message counts a message and the time since the previous one, except for the time before
// a user message.
func (c *Counters) message(role firn.Role, at time.Time) {
	c.Messages++
	now := at.UnixMilli()
	if role == firn.RoleUser {
		c.Turns++
	} else if took := now - c.Last; c.Last > 0 && took > 0 && took < pause.Milliseconds() {
		c.Active += took
	}
	c.Last = now
}

func (c *Counters) add(u compact.Usage) {
	c.Input += u.Input
	c.Output += u.Output
	c.CacheRead += u.CacheRead
	c.CacheWrite += u.CacheWrite
	c.Cost += u.Cost.Total
	c.Answers++
}

// addUsages adds two usages. Total is taken from the later one, because it is a size.
func addUsages(a, b firn.Usage) firn.Usage {
	a.Input += b.Input
	a.Output += b.Output
	a.CacheRead += b.CacheRead
	a.CacheWrite += b.CacheWrite
	a.Total = max(b.Total, a.Total)
	a.Cost.Input += b.Cost.Input
	a.Cost.Output += b.Cost.Output
	a.Cost.CacheRead += b.Cost.CacheRead
	a.Cost.CacheWrite += b.Cost.CacheWrite
	a.Cost.Total += b.Cost.Total
	return a
}
