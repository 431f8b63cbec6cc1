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

// Counters are what a session has used in all: every answer counts once,
// whichever branch it is on, and what was asked beside the turns as well.
type Counters struct {
	Input      int64   `json:"input"`
	Output     int64   `json:"output"`
	CacheRead  int64   `json:"cacheRead"`
	CacheWrite int64   `json:"cacheWrite"`
	Cost       float64 `json:"cost"`
	// Answers is how many answers were counted; those of one compaction count
	// as one.
	Answers int `json:"answers"`
	// Turns is how often the user spoke.
	Turns int `json:"turns"`
	// Compactions is how many there were; those undone count too.
	Compactions int `json:"compactions"`
	// Window is the size of the conversation as last reported; zero if it is
	// not known, as after a compaction.
	Window int64 `json:"window"`
	// Messages is how many messages there are, of whomever; Active how many
	// milliseconds its turns took together, by the times in the log.
	Messages int   `json:"messages"`
	Active   int64 `json:"activeMs"`
	// Last is when the last message came, in milliseconds since 1970.
	Last int64 `json:"lastMs,omitempty"`
}

// Total is the sum of all tokens.
func (c Counters) Total() int64 { return c.Input + c.Output + c.CacheRead + c.CacheWrite }

// The types of entries that carry counts: of the whole session so far, and of an
// answer that is not in the log.
const (
	countersType = firn.CountersType
	usageType    = "firn.usage"
)

// usageRecord is what an answer cost that is not itself in the log.
type usageRecord struct {
	Purpose  provider.Purpose `json:"purpose"`
	Provider string           `json:"provider"`
	Model    string           `json:"model"`
	Usage    compact.Usage    `json:"usage"`
}

func usageEntry(purpose provider.Purpose, info provider.Info, u firn.Usage) firn.Entry {
	return custom(usageType, usageRecord{purpose, info.Provider, info.Name, spelt(u)})
}

// spelt is a usage as records of ours spell it.
func spelt(u firn.Usage) compact.Usage {
	return compact.Usage{
		Input: u.Input, Output: u.Output, CacheRead: u.CacheRead, CacheWrite: u.CacheWrite, Total: u.Total, Cost: compact.Cost(u.Cost),
	}
}

// custom makes an entry of ours that no model sees.
func custom(kind string, data any) firn.Entry {
	return firn.NewEntry(&firn.Custom{Type: kind, Data: mustJSON(data)})
}

// countersRecord is what is written down at the end of a turn. Beside the counts
// it carries a checkpoint, so that a list need not read what is before it.
type countersRecord struct {
	Counters
	// Entries is how many entries stand before this one, so that a reader of the
	// end of a session knows the numbers of its entries; zero if nobody has counted them.
	Entries int `json:"entries,omitempty"`
	// Left are the ends of branches that were left.
	Left  []firn.EntryID   `json:"left,omitempty"`
	Names store.Checkpoint `json:"names"`
}

// Count returns what a session has used. It reads back to the end of the
// latest turn, and a session that has no counts yet as a whole.
func Count(ctx context.Context, st store.Store, id firn.ID) (Counters, error) {
	c, _, err := CountBranches(ctx, st, id)
	return c, err
}

// CountBranches is Count that also tells how many ends of branches there are:
// entries that nothing follows.
func CountBranches(ctx context.Context, st store.Store, id firn.ID) (Counters, int, error) {
	t, err := count(ctx, st, id, store.End)
	return t.Counters, t.ends.count(), err
}

// CountersEntry makes an entry with what a session has used up to a position, and
// with what it is called now: it can stand there for those that were stored before.
func CountersEntry(ctx context.Context, st store.Store, id firn.ID, end firn.Pos, names store.Names) (firn.Entry, error) {
	t, err := count(ctx, st, id, end)
	t.Names.Names = names
	return custom(countersType, t.sealed()), err
}

// Add counts an entry, the next one of the session.
func (c *Counters) Add(e firn.Entry) {
	switch b := e.Body.(type) {
	case *firn.Message:
		c.message(b.Role, e.Time)
		if b.Role == firn.RoleAssistant && b.Usage != nil {
			c.add(spelt(*b.Usage))
			c.Window = b.Usage.Context()
		}
	case *firn.CustomMessage:
		if e.Extra.Get("by") != nil { // a machine's message begins a turn as a person's does
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

// pause is how long nothing must have been said for it to be no part of a turn:
// one that was interrupted may go on the next day.
const pause = time.Hour

// message counts a message, and the time since the one before it unless that
// was the user's to think.
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

// sum adds two usages. The total is that of the later one: it is a size, not
// an amount.
func sum(a, b firn.Usage) firn.Usage {
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
