package serve

import (
	"bytes"
	"cmp"
	"context"
	"errors"
	"fmt"
	"slices"
	"sync"
	"time"

	"firn"
	"firn/dialect/native"
	"firn/internal/doctor"
	"firn/internal/migrate"
	"firn/store"
	"firn/wire"
)

// verify reads every byte of all sessions.
func (h *House) verify(ctx context.Context, tell func(done, of int, faults []wire.VerifyFault)) error {
	if h.o.Foreign != nil {
		return fmt.Errorf("check all sessions: they are not in our own files: %w", firn.ErrUnsupported)
	}
	if dir, ok := h.storeDir(); ok {
		return h.verifyFiles(ctx, dir, tell)
	}
	side, ok := h.own.(migrate.Side)
	if !ok {
		return nil // there is nothing yet
	}
	holdings, err := side.Holdings(ctx)
	if err != nil {
		return fmt.Errorf("check all sessions: %w", err)
	}
	slices.SortFunc(holdings, func(a, b store.Holding) int { return cmp.Compare(a.ID, b.ID) })
	for i, held := range holdings {
		var faults []wire.VerifyFault
		if held.Receipt == nil {
			if faults, err = verifySession(ctx, side, held.ID); err != nil {
				return fmt.Errorf("check all sessions: %w", err)
			}
		}
		tell(i+1, len(holdings), faults)
	}
	return nil
}

func (h *House) verifyFiles(ctx context.Context, dir string, tell func(done, of int, faults []wire.VerifyFault)) error {
	target, err := doctor.OpenHome(h.fs, dir)
	if err != nil {
		return err
	}
	target.MaxLine = int64(h.o.Settings.Store.MaxLine)
	_, err = doctor.Verify(ctx, target, doctor.Options{Each: func(done, of int, found []doctor.Finding) {
		var faults []wire.VerifyFault
		for _, f := range found {
			if f.Severity == doctor.Fault && !f.Repaired {
				faults = append(faults, wire.VerifyFault{Session: string(f.Session), What: f.Message})
			}
		}
		tell(done, of, faults)
	}})
	return err
}

// verifySession reads all records of a session, which the store holds against
// their chain, and every line as an entry.
func verifySession(ctx context.Context, side migrate.Side, id firn.ID) ([]wire.VerifyFault, error) {
	d := native.New()
	var faults []wire.VerifyFault
	n := 0
	for line, err := range side.Lines(ctx, id) {
		n++
		switch {
		case errors.Is(err, firn.ErrNotFound):
			return faults, nil // it was purged meanwhile
		case errors.Is(err, firn.ErrCorrupt):
			return append(faults, wire.VerifyFault{Session: string(id), What: err.Error()}), nil
		case err != nil:
			return faults, err
		case len(bytes.TrimSpace(line)) == 0:
			continue // as an editor leaves them
		}
		if _, err := d.Decode(line); err != nil {
			faults = append(faults, wire.VerifyFault{Session: string(id), What: fmt.Sprintf("line %d: %v", n, err)})
		}
	}
	return faults, nil
}

// followEvery is how often it is looked whether other gateways have changed
// something. Who searches looks in any case.
const followEvery = 5 * time.Second

// startFollowing keeps the index of words up to date with what other gateways
// add, until stop is called. A list always asks.
func (h *House) startFollowing(ctx context.Context) (stop func()) {
	if h.cluster == nil || h.finding == nil {
		return func() {}
	}
	ctx, cancel := context.WithCancel(ctx)
	var work sync.WaitGroup
	work.Go(func() {
		tick := time.NewTicker(followEvery)
		defer tick.Stop()
		for {
			select {
			case <-ctx.Done():
				return
			case <-tick.C:
				h.finding.words.Look(ctx)
			}
		}
	})
	return func() {
		cancel()
		work.Wait()
	}
}
