package journal

import (
	"fmt"
	"path/filepath"
	"runtime"
	"sync"

	"firn.dev/internal/disk/vfs"
)

// Committer lets many journals share one disk sync. The first append to arrive syncs for
// all that arrive in the meantime (group commit). If they belong to different files, their
// bytes are written to one commit log and only the log is synced: one sync instead of one
// per file. The journals' own files are always complete for readers; after a power cut the
// log is replayed into them.
//
// The zero value works without a log and syncs each file.
type Committer struct {
	mu    sync.Mutex
	queue []*pending      // members of group
	group *group          // group that accepts members; nil if the next append starts a new one
	last  <-chan struct{} // closed when the latest group is done
	log   *commitLog      // may be nil
	// unsynced maps the parts whose sync failed to the offset from which they are unsynced.
	unsynced map[string]int64
	round    uint64 // number of batches written to the log; used only by the leader
}

// NewCommitter returns a committer whose log is in the directory root/commit. It first
// replays the logs of dead processes, see [Replay]. Paths in the log are relative to root.
// The committer must be closed.
func NewCommitter(fsys vfs.FS, root string) (*Committer, []Replayed, error) {
	done, err := Replay(fsys, root)
	if err != nil {
		return nil, done, err
	}
	return &Committer{log: newCommitLog(fsys, root)}, done, nil
}

// Checkpoint makes the logged data durable in the journals' own files and empties the log.
func (c *Committer) Checkpoint() error {
	if c.log == nil {
		return nil
	}
	return c.log.checkpoint()
}

// Close checkpoints and removes the log. No append may be in progress.
func (c *Committer) Close() error {
	if c.log == nil {
		return nil
	}
	return c.log.close()
}

// noteSyncFailure handles a failed sync of a file. The system may have lost the data
// written to it and reports that only once. The logged data is therefore written back
// before the file is opened again and the loss is mistaken for a torn end. If that fails,
// the data stays in the log.
func (c *Committer) noteSyncFailure() {
	if c.log != nil {
		c.log.failures.Add(1)
		_ = c.log.checkpoint()
	}
}

// state tracks the durability of one part file.
type state struct {
	file vfs.File
	path string
	c    *Committer

	// For the log: the path relative to its root, and the epoch in which it last had bytes
	// of the file.
	rel   string
	epoch uint64
	// For the leader: the latest batch that had bytes of the file, and the end of those
	// that go to the log; -1 if some do not.
	round uint64
	next  int64

	// base is the size of the file when it was opened. Bytes before it are the
	// responsibility of their writers.
	base int64

	// syncing is held during a sync: of two concurrent syncs only one would return a
	// failure. After the first failure there are no further syncs.
	syncing sync.Mutex
	failed  error

	mu sync.Mutex
	// synced is the size up to which this process has synced the file. kept is the size up
	// to which it is either synced or in the commit log; -1 if unknown.
	synced, kept int64
	named        bool // the file's name is durable too
}

// newState returns the state of a part. Nothing is known about an existing file: another
// process may have written to it without syncing.
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
		s.c.markUnsynced(s.path, s.durable())
		s.c.noteSyncFailure()
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

// durable returns the size up to which the file needs no sync by this process.
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

// follows reports whether all bytes before an offset are kept, so that replaying the log
// leaves no hole before it.
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
	leads  bool // it is the first of its group and commits for all of it
}

// group is a set of appends that are committed together: those that arrived while the
// previous group was being committed.
type group struct {
	before <-chan struct{} // closed when the previous group is done; nil if there was none
	done   chan struct{}   // closed when this group is done
}

func (p *pending) end() int64 { return p.offset + int64(len(p.data)) }

// enqueue adds an append to the current group. It must be called in the order of the writes
// to a file.
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

// wait returns when the append is durable or cannot be made durable.
func (p *pending) wait() error {
	if !p.leads {
		<-p.group.done
		return p.err
	}
	if p.group.before != nil {
		<-p.group.before
	}
	runtime.Gosched() // let goroutines that are about to append join the group
	c := p.c
	c.mu.Lock()
	batch := c.queue
	c.queue, c.group = nil, nil
	c.mu.Unlock()
	c.commit(batch)
	close(p.group.done)
	return p.err
}

// commit makes a batch durable and sets the error of each append that is not.
func (c *Committer) commit(batch []*pending) {
	if c.log != nil && severalFiles(batch) {
		batch = c.commitByLog(batch)
	}
	if len(batch) == 1 { // common case, without a map
		batch[0].err = batch[0].syncFile()
		return
	}
	if c.log == nil {
		syncTogether(batch)
		return
	}
	errs := make(map[*state]error)
	for i := len(batch) - 1; i >= 0; i-- { // the last append to a file covers the earlier ones
		p := batch[i]
		err, tried := errs[p.state]
		if !tried {
			err = p.syncFile()
			errs[p.state] = err
		}
		p.err = err
	}
}

// syncsAtOnce limits the syncs that run at the same time: each of them occupies a thread.
const syncsAtOnce = 32

// syncTogether syncs the files of a batch at the same time, which the system combines. It is
// for a committer without a log.
func syncTogether(batch []*pending) {
	last := make(map[*state]*pending)
	for _, p := range batch { // the last append to a file covers the earlier ones
		last[p.state] = p
	}
	var wg sync.WaitGroup
	free := make(chan struct{}, syncsAtOnce)
	for _, p := range last {
		free <- struct{}{}
		wg.Go(func() {
			p.err = p.syncFile()
			<-free
		})
	}
	wg.Wait()
	for _, p := range batch {
		p.err = last[p.state].err
	}
}

// syncFile makes the append durable in its own file.
func (p *pending) syncFile() error {
	if p.state.isSynced(p.end()) {
		return nil
	}
	err := p.state.sync(p.fs, p.end())
	if err == nil || p.state.isSynced(p.end()) { // a roll may have synced and closed it in the meantime
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

// commitByLog writes appends to the log where possible and returns the rest: those preceded
// by bytes that are neither durable nor in the log. If the log fails, it returns all of
// them, because the files themselves can still be synced.
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
