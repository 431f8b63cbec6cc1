package filestore

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"iter"
	"runtime"
	"slices"
	"sync"
	"sync/atomic"

	"firn.dev"
	"firn.dev/internal/disk/journal"
	"firn.dev/store"
)

// List yields the infos of matching sessions, latest entry first. It reads the beginning of
// every transcript and its end back to the latest checkpoint, or uses a cached row. An
// index is faster.
func (st *Store) List(ctx context.Context, q store.Query) iter.Seq2[store.Info, error] {
	return store.Infos(func() ([]store.Info, error) { return st.list(ctx, q) })
}

func (st *inspection) list(ctx context.Context, q store.Query) ([]store.Info, error) {
	if err := st.startCall(ctx); err != nil {
		return nil, err
	}
	defer st.working.Done()
	found, err := st.allTranscripts(q.Agent)
	if err != nil {
		return nil, err
	}
	archived, err := st.archived()
	if err != nil {
		return nil, err
	}
	infos, err := st.inspectAll(ctx, found, archived)
	if err != nil {
		return nil, err
	}
	infos = slices.DeleteFunc(infos, func(info store.Info) bool { return info.ID == "" || !q.Matches(info) })
	store.SortByUpdate(infos)
	if q.Limit > 0 && len(infos) > q.Limit {
		infos = infos[:q.Limit]
	}
	return infos, nil
}

// allTranscripts returns the transcripts of one agent, or of all.
func (st *inspection) allTranscripts(agent string) ([]transcript, error) {
	agents := []string{agent}
	if agent == "" {
		var err error
		if agents, err = st.agents(); err != nil {
			return nil, err
		}
	} else if checkAgent(agent) != nil {
		return nil, nil
	}
	var found []transcript
	for _, name := range agents {
		more, err := st.transcripts(name)
		if err != nil && agent != "" {
			return nil, err
		}
		if err != nil { // list the sessions of the other agents anyway
			st.report("%v", err)
		}
		found = append(found, more...)
	}
	return found, nil
}

// archived returns the sessions that are marked as archived.
func (st *inspection) archived() (map[firn.ID]bool, error) {
	entries, err := st.fs.ReadDir(st.archiveMark(""))
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		return nil, fmt.Errorf("list archived sessions: %w", err)
	}
	marks := make(map[firn.ID]bool, len(entries))
	for _, e := range entries {
		marks[firn.ID(e.Name())] = true
	}
	return marks, nil
}

// inspectAll inspects transcripts in parallel. An unreadable transcript yields an info with
// a Fault.
func (st *inspection) inspectAll(ctx context.Context, found []transcript, archived map[firn.ID]bool) ([]store.Info, error) {
	infos := make([]store.Info, len(found))
	inParallel(ctx, len(found), func() func(i int) {
		in := st.inspector()
		return func(i int) {
			infos[i] = in.inspect(ctx, found[i])
			infos[i].Archived = archived[found[i].id]
		}
	})
	return infos, ctx.Err()
}

// inParallel calls the functions made by worker with 0 to n-1, using one worker per CPU,
// until the context is done.
func inParallel(ctx context.Context, n int, worker func() func(i int)) {
	var next atomic.Int64
	var workers sync.WaitGroup
	for range min(n, runtime.GOMAXPROCS(0)) {
		workers.Go(func() {
			work := worker()
			for i := int(next.Add(1)) - 1; i < n && ctx.Err() == nil; i = int(next.Add(1)) - 1 {
				work(i)
			}
		})
	}
	workers.Wait()
}

// transcript returns the transcript of a session, even if it is a link to a missing file.
func (st *inspection) transcript(id firn.ID) (transcript, error) {
	agent, path, err := st.locate(id)
	if errors.Is(err, firn.ErrNotFound) {
		st.scanLinks.Do(func() { _, _ = st.allTranscripts("") }) // records the links; errors are reported
		agent, path, err = st.locate(id)
	}
	var link *danglingLink
	if errors.As(err, &link) {
		return link.transcript, nil
	}
	if err != nil {
		return transcript{}, err
	}
	parts, err := journal.Parts(st.fs, path)
	return transcript{id: id, agent: agent, path: path, extraParts: len(parts) - 1}, err
}

// Extent returns the size of a session and its end without reading it.
func (st *Store) Extent(ctx context.Context, id firn.ID) (bytes int64, end firn.Pos, err error) {
	if err := st.startCall(ctx); err != nil {
		return 0, 0, err
	}
	defer st.working.Done()
	t, err := st.transcript(id)
	if err != nil {
		return 0, 0, err
	}
	in := st.inspector()
	size, err := in.measure(t.path)
	return size.Bytes, size.End, err
}

// Inspect returns the info of one session.
func (st *Store) Inspect(ctx context.Context, id firn.ID) (store.Info, error) {
	if err := st.startCall(ctx); err != nil {
		return store.Info{}, err
	}
	defer st.working.Done()
	t, err := st.transcript(id)
	if err != nil {
		return store.Info{}, err
	}
	in := st.inspector()
	info := in.inspect(ctx, t)
	info.Archived, err = st.exists(st.archiveMark(id))
	return info, err
}
