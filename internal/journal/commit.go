package journal

import (
	"fmt"
	"path/filepath"
	"runtime"
	"sync"

	"firn/internal/vfs"
)

// Committer lets many journals share one wait for the disk. Whoever comes
// first syncs for all who came meanwhile (group commit). If they are of
// different files, their bytes go into one commit log and only that is synced:
// one wait instead of one a file. The journals' own files are complete for
// every reader all the time; after a power cut the log is replayed into them.
//
// The zero value works without a log and syncs each file.
type Committer struct {
	mu    sync.Mutex
	queue []*pending      // the members of group
	group *group          // that takes members; nil if the next append begins one
	last  <-chan struct{} // closed when the latest group is done
	log   *commitLog      // nil: none
	// doubts are the parts that could not be synced, and from where on.
	doubts map[string]int64
	round  uint64 // counts batches that go to the log; only for who leads
}

// NewCommitter makes a committer whose log is in the directory root/commit.
// It replays logs of processes that died first, see [Replay], and must be
// closed. Paths in the log are relative to root.
func NewCommitter(fsys vfs.FS, root string) (*Committer, []Replayed, error) {
	done, err := Replay(fsys, root)
	if err != nil {
		return nil, done, err
	}
	return &Committer{log: newCommitLog(fsys, root)}, done, nil
}

// Checkpoint makes durable in their own files what is in the log, and empties it.
func (c *Committer) Checkpoint() error {
	if c.log == nil {
		return nil
	}
	return c.log.checkpoint()
}

// Close checkpoints and removes the log. No append may be under way.
func (c *Committer) Close() error {
	if c.log == nil {
		return nil
	}
	return c.log.close()
}

// distrust notes that a file could not be synced. The system may have lost what
// was written to it, and says so only once. What the log has of it is put back
// before anybody opens the file and takes the loss for a torn end. If that
// fails, the log keeps it.
func (c *Committer) distrust() {
	if c.log != nil {
		c.log.failures.Add(1)
		_ = c.log.checkpoint()
	}
}

// state tells what is durable of one part file.
type state struct {
	file vfs.File
	path string
	c    *Committer

	// For the log: the path as it has it, and the epoch in which it last had
	// bytes of the file.
	rel   string
	epoch uint64
	// For who leads: the latest batch that had bytes of the file, and where in
	// the file those of them end that go to the log; -1 if some do not.
	round uint64
	next  int64

	// base is how long the file was when it was opened: what is before it is for
	// others to know.
	base int64

	// syncing is held during a sync: of two at a time only one would be told
	// of a failure. The first failure is the last sync.
	syncing sync.Mutex
	failed  error

	mu sync.Mutex
	// synced is how much of the file was forced to disk by us; kept how much is
	// either that or in the commit log. Kept is -1 while we cannot know.
	synced, kept int64
	named        bool // the file's name is durable too
}

// newState makes the state of a part. Of a file that is not new we know
// nothing: another process may have written to it and not synced.
func newState(file vfs.File, path string, created bool, c *Committer) *state {
	s := &state{file: file, path: path, c: c, kept: -1}
	if created {
		s.kept = 0
	}
	return s
}

// force syncs the bytes of the file.
func (s *state) force() error {
	s.syncing.Lock()
	defer s.syncing.Unlock()
	if s.failed != nil {
		return s.failed
	}
	if s.failed = s.file.Sync(); s.failed != nil {
		s.c.doubt(s.path, s.durable())
		s.c.distrust()
	}
	return s.failed
}

// sync makes the file durable up to a size, and its name.
func (s *state) sync(fsys vfs.FS, upTo int64) error {
	s.mu.Lock()
	named := s.named
	s.mu.Unlock()
	if err := s.force(); err != nil {
		return err
	}
	if !named {
		if err := fsys.SyncDir(filepath.Dir(s.path)); err != nil {
			return err
		}
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	s.named = true
	s.synced = max(s.synced, upTo)
	s.kept = max(s.kept, upTo)
	return nil
}

// durable is how much of the file is not ours to doubt.
func (s *state) durable() int64 {
	s.mu.Lock()
	defer s.mu.Unlock()
	return max(s.base, s.synced)
}

func (s *state) isSynced(upTo int64) bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.named && s.synced >= upTo
}

// follows reports whether all bytes before an offset are kept, so that the
// log, replayed, leaves no hole before it.
func (s *state) follows(offset int64) bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.kept == offset
}

func (s *state) setKept(upTo int64) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.kept = max(s.kept, upTo)
}

// pending is an append that waits for the disk.
type pending struct {
	c      *Committer
	fs     vfs.FS
	state  *state
	offset int64
	data   []byte
	err    error
	group  *group
	leads  bool // it came first in its group, and commits for all of it
}

// group is appends that are committed together: those that came while the
// group before was being committed.
type group struct {
	before <-chan struct{} // closed when the group before is done; nil if there was none
	done   chan struct{}   // closed when this one is
}

func (p *pending) end() int64 { return p.offset + int64(len(p.data)) }

// enqueue is called in the order of the writes to a file.
func (c *Committer) enqueue(fsys vfs.FS, s *state, offset int64, data []byte) *pending {
	p := &pending{c: c, fs: fsys, state: s, offset: offset, data: data}
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.group == nil {
		c.group = &group{before: c.last, done: make(chan struct{})}
		c.last = c.group.done
		p.leads = true
	}
	p.group = c.group
	c.queue = append(c.queue, p)
	return p
}

// wait returns when the append is durable or cannot be made so.
func (p *pending) wait() error {
	if !p.leads {
		<-p.group.done
		return p.err
	}
	if p.group.before != nil {
		<-p.group.before
	}
	runtime.Gosched() // let those who are about to append come along
	c := p.c
	c.mu.Lock()
	batch := c.queue
	c.queue, c.group = nil, nil
	c.mu.Unlock()
	c.commit(batch)
	close(p.group.done)
	return p.err
}

// commit makes a batch durable and sets the error of each that is not.
func (c *Committer) commit(batch []*pending) {
	if c.log != nil && severalFiles(batch) {
		batch = c.commitByLog(batch)
	}
	if len(batch) == 1 { // the usual case, without a map
		batch[0].err = batch[0].syncFile()
		return
	}
	errs := make(map[*state]error)
	for i := len(batch) - 1; i >= 0; i-- { // the last of a file covers those before it
		p := batch[i]
		err, tried := errs[p.state]
		if !tried {
			err = p.syncFile()
			errs[p.state] = err
		}
		p.err = err
	}
}

// syncFile makes the append durable in its own file.
func (p *pending) syncFile() error {
	if p.state.isSynced(p.end()) {
		return nil
	}
	err := p.state.sync(p.fs, p.end())
	if err == nil || p.state.isSynced(p.end()) { // a roll may have synced and closed it meanwhile
		return nil
	}
	return fmt.Errorf("sync %s: %w", p.state.path, err)
}

func severalFiles(batch []*pending) bool {
	for _, p := range batch[1:] {
		if p.state != batch[0].state {
			return true
		}
	}
	return false
}

// commitByLog writes to the log what can go there, and returns the rest: what
// has bytes before it that are neither durable nor in the log. If the log
// fails, that is everything: the files themselves can still be synced.
func (c *Committer) commitByLog(batch []*pending) (rest []*pending) {
	c.round++
	logged := make([]*pending, 0, len(batch))
	for _, p := range batch {
		s := p.state
		first := s.round != c.round
		if s.round = c.round; len(p.data) <= logMaxData && (first && s.follows(p.offset) || !first && s.next == p.offset) {
			logged = append(logged, p)
			s.next = p.end()
		} else {
			s.next = -1
			rest = append(rest, p)
		}
	}
	if len(logged) == 0 {
		return rest
	}
	if err := c.log.write(logged); err != nil {
		return batch
	}
	for _, p := range logged {
		if p.state.next >= 0 {
			p.state.setKept(p.state.next)
		}
	}
	return rest
}
