package serve

import (
	"errors"
	"fmt"
	"path/filepath"
	"strings"

	"firn.dev"
	"firn.dev/internal/disk/vfs"
	"firn.dev/internal/ops/config"
	"firn.dev/store"
	"firn.dev/wire"
)

// source returns the store of our own sessions for raw reads, or nil if the sessions are
// another tool's.
func (h *Instance) source() store.Source {
	if h.o.Foreign != nil {
		return nil
	}
	if s, ok := h.own.(store.Source); ok {
		return s
	}
	s, _ := h.store.(store.Source) // the home may not exist yet
	return s
}

// storeUse returns the purpose for which this process opens the store.
func (h *Instance) storeUse() config.Use {
	switch {
	case h.serves:
		return config.Serving
	case h.o.ReadOnly:
		return config.Reading
	}
	return config.Writing
}

// checkStore fails if the settings name a different store than the one that holds the
// sessions of the home, or if writing would split the sessions between two stores.
func (h *Instance) checkStore() error {
	note, err := h.o.Settings.CheckStore(h.fs, h.storeUse())
	if err != nil {
		return wrongStore(err)
	}
	if note != "" {
		h.o.Report(note)
	}
	if h.storeUse() != config.Writing || !h.o.Settings.StoreOverridden() || h.o.Settings.OwnFiles() {
		return nil
	}
	record, err := config.ReadRecord(h.fs, h.home())
	if err != nil || record != nil || !hasSessions(h.fs, h.home()) {
		return err
	}
	url := h.o.Settings.Store.URL
	return &wire.Problem{
		Kind: wire.Conflict, Message: fmt.Sprintf("the sessions of %s are in its own files: a change in %s would split them across two stores", h.home(), url),
		Hint: fmt.Sprintf("run firn migrate --from files --to %s, or choose another home with --home", url),
	}
}

// wrongStore converts a [config.WrongStore] error to a problem with a hint.
func wrongStore(err error) error {
	var w *config.WrongStore
	if !errors.As(err, &w) {
		return err
	}
	kind := wire.Conflict
	switch {
	case errors.Is(w, firn.ErrCorrupt):
		kind = wire.Corrupt
	case errors.Is(w, firn.ErrNotFound):
		kind = wire.NotFound
	}
	return &wire.Problem{Kind: kind, Message: w.Message, Hint: w.Hint}
}

// recordStore records the store in use in the home, unless it is the home's own files.
// Failures are not fatal: sessions on a full disk must still be readable.
func (h *Instance) recordStore() {
	if h.storeUse() == config.Reading {
		return
	}
	r := config.StoreRecord{Since: h.o.Clock().UTC().Truncate(1e9)}
	left := hasSessions(h.fs, h.home())
	if left {
		r.Before = "file:"
	}
	written, err := h.o.Settings.RecordStore(h.fs, r)
	switch {
	case err != nil:
		h.o.Report(err.Error())
	case written:
		h.o.Report(fmt.Sprintf("the sessions of %s are now in %s, as recorded in %s", h.home(), h.o.Settings.Store.URL, config.RecordName))
		if left {
			h.o.Report("sessions in the home's own files are no longer read; to copy missing ones: firn migrate --from files")
		}
	}
}

// hasSessions reports whether there are sessions in the home's own files.
func hasSessions(fsys vfs.FS, home string) bool {
	agents, err := fsys.ReadDir(filepath.Join(home, "agents"))
	if err != nil {
		return false
	}
	for _, agent := range agents {
		files, err := fsys.ReadDir(filepath.Join(home, "agents", agent.Name(), "sessions"))
		if err != nil {
			continue
		}
		for _, f := range files {
			if strings.HasSuffix(f.Name(), ".jsonl") {
				return true
			}
		}
	}
	return false
}
