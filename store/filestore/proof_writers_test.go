package filestore_test

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"slices"
	"strconv"
	"strings"
	"sync"
	"testing"

	"firn.dev"
	"firn.dev/internal/disk/vfs/faultfs"
	"firn.dev/store"
	"firn.dev/store/filestore"
)

const (
	sharedSession = firn.ID("shared")
	sharedPart    = 6000 // small, so that there are many parts
)

// appenderRole appends entries, one at a time, to a shared session: at any end, or only
// after the entries it has read.
func appenderRole(t *testing.T, p *player) {
	count, err := strconv.Atoi(p.args[2])
	must(t, err)
	opts := filestore.Options{PartSize: sharedPart}
	a := &appender{}
	add := a.addAnywhere
	switch p.args[1] {
	case "expect":
		add = a.addExpecting
	case "rush": // as fast as possible, with a new part for every entry
		opts = filestore.Options{PartSize: 1, Sync: filestore.SyncNever}
	}
	a.st = openChild(t, p.args[0], opts)
	p.report("ready")
	p.wait()
	chance := rand.New(rand.NewPCG(uint64(count), uint64(len(p.args))))
	for range count {
		e := verifiableEntry(20 + chance.IntN(400))
		end, err := add(e)
		must(t, err)
		p.report("ack", sharedSession, uint64(end), e.ID)
	}
	must(t, a.st.Close())
}

// appender is one of several writers of a session, with the entries it has read.
type appender struct {
	st   *filestore.Store
	end  store.Pos
	head firn.EntryID
}

func (a *appender) addAnywhere(e firn.Entry) (store.Pos, error) {
	return a.st.Append(context.Background(), sharedSession, store.Any, e)
}

// addExpecting appends after the entries it has read, under their head. On a conflict it
// reads on and tries again.
func (a *appender) addExpecting(e firn.Entry) (store.Pos, error) {
	for {
		if err := a.readOn(); err != nil {
			return 0, err
		}
		e.Parent = a.head
		end, err := a.st.Append(context.Background(), sharedSession, a.end, e)
		if err == nil {
			a.end, a.head = end, e.ID
			return end, nil
		}
		var conflict *store.Conflict
		if !errors.As(err, &conflict) || !errors.Is(err, firn.ErrConflict) {
			return 0, err
		}
		if conflict.Expect != a.end || conflict.End <= a.end {
			return 0, fmt.Errorf("a conflict that is none: expected %d, the end is %d: %w", a.end, conflict.End, err)
		}
	}
}

func (a *appender) readOn() error {
	for rec, err := range a.st.Read(context.Background(), sharedSession, a.end) {
		switch {
		case err != nil:
			return err
		case rec.Gap != nil && rec.Gap.Kind == firn.GapTorn:
			return nil // it is being written
		case rec.Gap != nil:
			return rec.Gap
		}
		a.end = rec.Next
		if rec.Glance.ID != "" {
			a.head = rec.Glance.ID
		}
	}
	return nil
}

// followerRole follows a session in a read-only home until it has seen so many entries.
func followerRole(t *testing.T, p *player) {
	count, err := strconv.Atoi(p.args[1])
	must(t, err)
	st := openChild(t, p.args[0], filestore.Options{ReadOnly: true})
	p.report("ready")
	next := store.Start
	for rec, err := range st.Follow(context.Background(), sharedSession, store.Start) {
		must(t, err)
		if rec.At != next {
			t.Fatalf("a record at %d, where one at %d should follow", rec.At, next)
		}
		next = rec.Next
		var r reading
		r.add(rec)
		if len(r.gaps) > 0 {
			t.Fatal(&r.gaps[0])
		}
		must(t, r.checkVouched())
		for i, e := range r.entries {
			p.report("saw", e.ID, uint64(r.ends[i]))
			count--
		}
		if count == 0 {
			break
		}
	}
	must(t, st.Close())
}

// TestManyWriters lets several processes append to one session. There must be one order,
// every entry once, and concurrent readers must see a prefix.
func TestManyWriters(t *testing.T) {
	t.Parallel()
	for _, mode := range []string{"any", "expect"} {
		for _, writers := range []int{2, 8} {
			t.Run(fmt.Sprintf("%s/%d", mode, writers), func(t *testing.T) {
				t.Parallel()
				s := &scene{t: t, home: t.TempDir(), writers: writers, each: 400 / writers, pause: 5, acks: make(map[firn.EntryID]store.Pos)}
				if testing.Short() {
					s.each = 80 / writers
				}
				s.play(mode)
			})
		}
	}
}

// scene is several writers of one session, and its readers.
type scene struct {
	t             *testing.T
	home          string
	writers, each int
	pause         int // number of entries followed between two full reads

	mu   sync.Mutex
	acks map[firn.EntryID]store.Pos
}

func (s *scene) play(mode string) {
	first := verifiableEntry(30)
	st := openHome(s.t, s.home, filestore.Options{PartSize: sharedPart})
	_, err := st.Append(context.Background(), sharedSession, store.Start, first)
	must(s.t, err)
	total := s.writers*s.each + 1

	var all sync.WaitGroup
	var followed [2][]firn.EntryID
	all.Go(func() { followed[0] = s.followChild(total) })
	all.Go(func() { followed[1] = s.follow(total) })
	var writers []*child
	for range s.writers {
		writers = append(writers, start(s.t, "appender", s.home, mode, strconv.Itoa(s.each)))
	}
	for _, c := range writers {
		if words, ok := c.readWords(); !ok || words[0] != "ready" {
			s.t.Fatalf("a writer is not ready: %q", words)
		}
	}
	for _, c := range writers {
		all.Go(func() { s.listen(c) })
	}
	all.Wait()

	r, err := readSession(st, sharedSession)
	must(s.t, err)
	s.check(r, total)
	must(s.t, checkResumed(st, sharedSession, r))
	for i, ids := range followed {
		if !slices.Equal(ids, r.ids()) {
			s.t.Errorf("follower %d saw %d entries in another order than the file has them", i, len(ids))
		}
	}
}

// listen starts a writer and records its reports.
func (s *scene) listen(c *child) {
	c.prompt()
	for words, ok := c.readWords(); ok; words, ok = c.readWords() {
		end, err := strconv.ParseUint(words[2], 10, 64)
		if err != nil {
			s.t.Error(err)
		}
		s.mu.Lock()
		s.acks[firn.EntryID(words[3])] = store.Pos(end)
		s.mu.Unlock()
	}
	c.done()
}

// check compares the session with the writers' reports.
func (s *scene) check(r reading, total int) {
	if len(r.gaps) > 0 {
		s.t.Errorf("%d gaps: %v", len(r.gaps), &r.gaps[0])
	}
	if len(r.entries) != total || len(s.acks) != total-1 {
		s.t.Errorf("%d entries are there and %d were acknowledged, want %d", len(r.entries), len(s.acks), total)
	}
	for i, e := range r.entries[1:] {
		if end := s.acks[e.ID]; end != r.ends[i+1] {
			s.t.Errorf("entry %s ends at %d, but %d was reported", e.ID, r.ends[i+1], end)
		}
	}
	must(s.t, errors.Join(r.checkChain(), r.checkVouched()))
}

// followChild follows in another process and returns the IDs it saw.
func (s *scene) followChild(total int) []firn.EntryID {
	c := start(s.t, "follower", s.home, strconv.Itoa(total))
	var ids []firn.EntryID
	for words, ok := c.readWords(); ok; words, ok = c.readWords() {
		if words[0] == "saw" {
			ids = append(ids, firn.EntryID(words[1]))
		}
	}
	c.done()
	return ids
}

// follow follows through its own store, and regularly reads the whole session, which must
// extend the previous result.
func (s *scene) follow(total int) []firn.EntryID {
	st, err := filestore.Open(s.home, filestore.Options{ReadOnly: true})
	if err != nil {
		s.t.Error(err)
		return nil
	}
	defer st.Close()
	var followed, last reading
	next := store.Start
	for rec, err := range st.Follow(context.Background(), sharedSession, store.Start) {
		if err == nil && rec.At != next {
			err = fmt.Errorf("a record at %d, where one at %d should follow", rec.At, next)
		}
		if err != nil {
			s.t.Error(err)
			return nil
		}
		next = rec.Next
		followed.add(rec)
		if len(followed.gaps) > 0 {
			s.t.Errorf("followed: %v", &followed.gaps[0])
			return nil
		}
		if len(followed.entries)%s.pause == 0 {
			now, err := s.peek(st, last, followed)
			if err != nil {
				s.t.Error(err)
				return nil
			}
			last = now
		}
		if len(followed.entries) == total {
			break
		}
	}
	return followed.ids()
}

// peek reads the whole session while it is being written.
func (s *scene) peek(st *filestore.Store, last, followed reading) (reading, error) {
	now, err := readSession(st, sharedSession)
	if err != nil {
		return now, err
	}
	ids := now.ids()
	for _, before := range [][]firn.EntryID{last.ids(), followed.ids()} {
		if len(ids) < len(before) || !slices.Equal(ids[:len(before)], before) {
			return now, fmt.Errorf("read %d entries that do not begin with the %d that were read before", len(ids), len(before))
		}
	}
	err = errors.Join(now.checkChain(), now.checkVouched(), now.checkTornTail())
	if err != nil {
		return now, fmt.Errorf("reading while others write: %w", err)
	}
	path, err := collect(st, sharedSession)
	if err == nil && len(path.Entries) < len(ids) {
		err = fmt.Errorf("resuming while others write reached %d of %d entries: %v", len(path.Entries), len(ids), path.Gaps)
	}
	return now, err
}

// TestFollowAcrossProcesses follows a session while another process appends to it, over
// several parts. Each entry must be seen once and in order.
func TestFollowAcrossProcesses(t *testing.T) {
	t.Parallel()
	s := &scene{t: t, home: t.TempDir(), writers: 1, each: 600, pause: 100, acks: make(map[firn.EntryID]store.Pos)}
	if testing.Short() {
		s.each = 150
	}
	s.play("rush")
}

// TestNewPartsWhileReading appends to a session and starts new parts between any two file
// operations of a reader. The reader must see a prefix, and no part as missing or too
// short.
func TestNewPartsWhileReading(t *testing.T) {
	const id = firn.ID("s")
	for _, back := range []bool{false, true} {
		for moment, met := 1, true; met; moment++ {
			fsys := faultfs.New()
			opts := filestore.Options{FS: fsys, PartSize: 600}
			writer, reader := openHome(t, "/home", opts), openHome(t, "/home", opts)
			add := func(n int) {
				for range n {
					_, err := writer.Append(context.Background(), id, store.Any, verifiableEntry(20))
					must(t, err)
				}
			}
			add(7)
			looks := 0
			fsys.Hook(func(faultfs.Kind, string) {
				if looks++; looks == moment {
					fsys.Hook(nil)
					add(7)
				}
			})
			records := reader.Read(context.Background(), id, store.Start)
			if back {
				records = reader.ReadBack(context.Background(), id, store.End)
			}
			r, err := readAll(records)
			must(t, err)
			fsys.Hook(nil)
			if back {
				slices.Reverse(r.entries)
			}
			if err := r.checkChain(); err != nil || len(r.gaps) > 0 {
				t.Errorf("read (back: %v) during an append, at check %d: %v, gaps %v", back, moment, err, r.gaps)
			}
			met = looks >= moment
		}
	}
}

// claimers is the number of concurrent processes.
const claimers = 8

// claimerRole requests the sessions of keys that others request at the same time, appends
// to each and to one of its own, and reports the sessions.
func claimerRole(t *testing.T, p *player) {
	ctx := context.Background()
	st := openChild(t, p.args[0], filestore.Options{})
	own := firn.ID("own-" + p.args[1])
	keys := strings.Split(p.args[2], ",")
	p.report("ready")
	p.wait()
	for _, key := range keys {
		id, err := store.LoadOrCreate(ctx, st, key)
		must(t, err)
		p.report("got", key, id)
		e := verifiableEntry(40)
		end, err := st.Append(ctx, id, store.Any, e)
		must(t, err)
		p.report("ack", id, uint64(end), e.ID)
		_, err = st.Append(ctx, own, store.Any, verifiableEntry(40))
		must(t, err)
		looked, err := st.Lookup(ctx, key)
		must(t, err)
		if looked != id {
			t.Errorf("key %s points to %s, but got %s", key, looked, id)
		}
		for info, err := range st.List(ctx, store.Query{}) {
			must(t, err)
			if info.Fault != "" {
				t.Errorf("session %s is listed with the fault %s", info.ID, info.Fault)
			}
		}
	}
	// Only one process can create a session with Start.
	if _, err := st.Append(ctx, "race", store.Start, verifiableEntry(40)); err == nil {
		p.report("began")
	} else if !errors.Is(err, firn.ErrConflict) {
		t.Error(err)
	}
	must(t, st.Close())
}

// TestManyProcessesOneHome lets eight processes request the sessions of the same new keys.
// All must get the same sessions, and no entry may be lost.
func TestManyProcessesOneHome(t *testing.T) {
	t.Parallel()
	home, keys := t.TempDir(), []string{"telegram:1", "agent:ops:main", "telegram:2", "agent:ops:main:thread:9"}
	var children []*child
	for n := range claimers {
		children = append(children, start(t, "claimer", home, strconv.Itoa(n), strings.Join(keys, ",")))
	}
	for _, c := range children {
		if words, ok := c.readWords(); !ok || words[0] != "ready" {
			t.Fatalf("a process is not ready: %q", words)
		}
	}
	for _, c := range children {
		c.prompt()
	}
	got, begun, l := make(map[string]map[string]bool), 0, newLedger()
	for _, c := range children {
		for words, ok := c.readWords(); ok; words, ok = c.readWords() {
			switch words[0] {
			case "got":
				if got[words[1]] == nil {
					got[words[1]] = make(map[string]bool)
				}
				got[words[1]][words[2]] = true
			case "began":
				begun++
			default:
				must(t, l.note(words))
			}
		}
		c.done()
	}
	for _, key := range keys {
		if len(got[key]) != 1 {
			t.Errorf("key %s got %d sessions: %v", key, len(got[key]), got[key])
		}
	}
	if begun != 1 {
		t.Errorf("%d processes began the same session", begun)
	}
	if len(l.acks) != len(keys) {
		t.Errorf("%d sessions were added to, want %d", len(l.acks), len(keys))
	}
	must(t, l.check(home))
	checkListed(t, home, len(keys)+claimers+1)
}

// checkListed checks that a list has so many sessions without faults, and as many entries
// in each as a reader finds.
func checkListed(t *testing.T, home string, want int) {
	t.Helper()
	st := openHome(t, home, filestore.Options{ReadOnly: true})
	n := 0
	for info, err := range st.List(context.Background(), store.Query{}) {
		must(t, err)
		n++
		r, err := readSession(st, info.ID)
		must(t, err)
		if info.Fault != "" || len(r.ends) == 0 || info.End != r.ends[len(r.ends)-1] || len(r.gaps) > 0 {
			t.Errorf("session %s is listed as %+v and has %d entries and %d gaps", info.ID, info, len(r.entries), len(r.gaps))
		}
	}
	if n != want {
		t.Errorf("%d sessions are listed, want %d", n, want)
	}
}
