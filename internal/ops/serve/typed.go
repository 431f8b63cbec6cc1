package serve

import (
	"firn.dev"
	"firn.dev/internal/disk/history"
	"firn.dev/internal/ops/sessionsync"
)

// eraseTyped removes the given texts from the input history of this home and returns the
// number of lines removed.
func (h *Instance) eraseTyped(texts []string) (int, error) {
	var typed history.Typed
	for _, text := range texts {
		typed.Add(text)
	}
	return history.Erase(h.fs, history.Path(h.home()), typed.Has)
}

// eraseConflicts returns the function that removes entries of a session that syncs of this home
// kept aside; all of them if no entries are given.
func eraseConflicts(h *Instance) func(id firn.ID, entries ...firn.EntryID) error {
	if h.o.Ephemeral {
		return nil
	}
	return func(id firn.ID, entries ...firn.EntryID) error {
		return sessionsync.EraseConflicts(h.fs, sessionsync.Dir(h.home()), id, entries...)
	}
}
