package agent

import (
	"context"
	"errors"
	"fmt"
	"time"

	"firn.dev"
	"firn.dev/store"
)

// ErrMoved says that somebody moved the session to another branch while a turn
// ran on this one. What the turn had to say is on the branch it began on.
var ErrMoved = errors.New("the session was moved to another branch")

// ledger is a turn's hold on its session: it appends where the turn left off
// and notices when somebody else wrote meanwhile. Others may speak, and what
// they say is heard; if they moved the head away, the turn is over.
type ledger struct {
	st store.Store
	id firn.ID
	// end is where we believe the end is, head the last entry of our branch.
	end  firn.Pos
	head firn.EntryID
	// moved is where somebody else moved the head; empty if it is on our branch.
	moved firn.EntryID
	// heard says that the user said something since the window was built.
	heard bool
	// own are the entries the turn wrote. News are those that the path does
	// not have yet, by whomever; lost says that one of them could not be read.
	own, news []firn.Entry
	lost      bool
	// right is that of the turn to write.
	right right
	// hears is called with each entry that somebody else wrote; nil: nobody cares.
	hears func(firn.Entry)
}

// anew is a ledger of the same session that knows nothing of it.
func (l *ledger) anew() ledger { return ledger{st: l.st, id: l.id, right: l.right, hears: l.hears} }

// append adds entries, durable when it returns.
func (l *ledger) append(ctx context.Context, entries ...firn.Entry) error {
	return l.write(ctx, l.st.Append, entries)
}

// note adds entries that may be lost in a crash of the machine.
func (l *ledger) note(ctx context.Context, entries ...firn.Entry) error {
	if deferred, ok := store.As[store.Deferred](l.st); ok {
		return l.write(ctx, deferred.AppendDeferred, entries)
	}
	return l.append(ctx, entries...)
}

type appendFunc func(ctx context.Context, id firn.ID, expect firn.Pos, entries ...firn.Entry) (firn.Pos, error)

func (l *ledger) write(ctx context.Context, add appendFunc, entries []firn.Entry) error {
	for {
		err := l.try(ctx, add, entries)
		if !conflicts(err) {
			return err
		}
		if err := l.catchUp(ctx); err != nil {
			return err
		}
	}
}

// try adds entries if nobody else wrote since the ledger last looked; if
// somebody did, it is a conflict.
func (l *ledger) try(ctx context.Context, add appendFunc, entries []firn.Entry) error {
	if l.moved != "" {
		return l.leave(ctx, add, entries)
	}
	end, err := add(ctx, l.id, l.end, entries...)
	if err == nil {
		l.wrote(end, entries)
	}
	return err
}

// conflicts reports whether an append was refused because somebody else wrote.
func conflicts(err error) bool {
	var conflict *store.Conflict
	return errors.As(err, &conflict)
}

// wrote takes notice of entries that are in the log now, with the parents that
// the store gave them.
func (l *ledger) wrote(end firn.Pos, entries []firn.Entry) {
	l.end = end
	for i := range entries {
		if entries[i].ID == "" {
			continue // a header
		}
		if entries[i].Parent == "" {
			entries[i].Parent = l.head
		}
		l.head = entries[i].ID
		l.own, l.news = append(l.own, entries[i]), append(l.news, entries[i])
	}
}

// catchUp reads what others wrote, and notices if the head is not on our
// branch any more.
func (l *ledger) catchUp(ctx context.Context) error {
	head := l.head
	if l.moved != "" {
		head = l.moved
	}
	for rec, err := range l.st.Read(ctx, l.id, l.end) {
		if err != nil {
			return fmt.Errorf("read what others wrote to session %s: %w", l.id, err)
		}
		if l.right.ends(&rec) {
			return l.fenced()
		}
		l.end = rec.Next
		g := &rec.Glance
		if rec.Gap != nil || g.ID == "" {
			l.lost = true
			continue
		}
		if l.moved != "" || g.Parent != head {
			l.moved = g.ID
		}
		head = g.ID
		l.listen(&rec)
	}
	if l.moved == "" {
		l.head = head
	}
	return nil
}

// listen takes in an entry that somebody else wrote, and notices that the user
// said something.
func (l *ledger) listen(rec *firn.Record) {
	entry, err := rec.Entry()
	if err != nil {
		l.lost = true
		return
	}
	l.news = append(l.news, entry)
	if l.hears != nil {
		l.hears(entry)
	}
	if _, said := saidBy(entry, firn.RoleUser); said {
		l.heard = true
	}
}

// leave puts entries on the branch we were on and the head back to where
// others moved it, so that nothing is lost and nobody is disturbed.
func (l *ledger) leave(ctx context.Context, add appendFunc, entries []firn.Entry) error {
	batch := append(make([]firn.Entry, 0, len(entries)+1), entries...)
	batch[0].Parent = l.head
	back := firn.NewEntry(&firn.Head{Reason: "a turn ended on the branch it began on"})
	for {
		back.Parent = l.moved
		_, err := add(ctx, l.id, l.end, append(batch, back)...)
		if err == nil {
			return fmt.Errorf("append to session %s: %w", l.id, ErrMoved)
		}
		if !conflicts(err) {
			return err
		}
		if err := l.catchUp(ctx); err != nil {
			return err
		}
	}
}

// grace is how long recording the end of a turn may take when the turn itself
// is already over.
const grace = 10 * time.Second

// afterwards returns a context for recording what happened when ctx may have
// ended.
func afterwards(ctx context.Context) (context.Context, context.CancelFunc) {
	return context.WithTimeout(context.WithoutCancel(ctx), grace)
}
