package serve

import (
	"bytes"
	"cmp"
	"context"
	"errors"
	"fmt"
	"slices"

	"firn.dev"
	"firn.dev/internal/base/hashchain"
	"firn.dev/internal/formats/dialect/native"
	"firn.dev/internal/gateway"
	"firn.dev/internal/ops/doctor"
	"firn.dev/internal/ops/migrate"
	"firn.dev/store"
	"firn.dev/wire"
)

// verify reads and checks all sessions completely.
func (h *Instance) verify(ctx context.Context, report func(gateway.VerifyStep)) error {
	if h.o.Foreign != nil {
		return fmt.Errorf("verify sessions: they are not in local files: %w", firn.ErrUnsupported)
	}
	if dir, ok := h.storeDir(); ok {
		return h.verifyFiles(ctx, dir, report)
	}
	side, ok := h.own.(migrate.Side)
	if !ok {
		return nil // nothing stored yet
	}
	holdings, err := side.Holdings(ctx)
	if err != nil {
		return fmt.Errorf("verify sessions: %w", err)
	}
	slices.SortFunc(holdings, func(a, b store.Holding) int { return cmp.Compare(a.ID, b.ID) })
	step := gateway.VerifyStep{Of: len(holdings)}
	for _, held := range holdings {
		step.Faults = nil
		if held.Receipt == nil {
			if err := verifySession(ctx, side, held.ID, &step); err != nil {
				return fmt.Errorf("verify sessions: %w", err)
			}
		}
		step.Done++
		report(step)
	}
	if step.Faults, err = h.verifyReplicas(ctx); err != nil {
		return fmt.Errorf("verify sessions: %w", err)
	}
	report(step)
	return nil
}

// verifyReplicas compares the replicas of all sessions, keys, list rows, tokens and objects
// between the servers of a cluster.
func (h *Instance) verifyReplicas(ctx context.Context) ([]wire.VerifyFault, error) {
	if h.cluster == nil {
		return nil, nil
	}
	found, err := h.cluster.CheckReplicas(ctx)
	var faults []wire.VerifyFault
	for _, f := range found {
		where := string(h.cluster.SessionOf(f))
		if where == "" {
			where = f.Stream
		}
		faults = append(faults, wire.VerifyFault{Session: where, What: f.String()})
	}
	return faults, err
}

func (h *Instance) verifyFiles(ctx context.Context, dir string, report func(gateway.VerifyStep)) error {
	target, err := doctor.OpenHome(h.fs, dir)
	if err != nil {
		return err
	}
	target.MaxLine = int64(h.o.Settings.Store.MaxLine)
	var step gateway.VerifyStep
	r, err := doctor.Verify(ctx, target, doctor.Options{Each: func(done, of int, found []doctor.Finding) {
		step.Done, step.Of, step.Faults = done, of, nil
		for _, f := range found {
			if f.Severity == doctor.Fault && !f.Repaired {
				step.Faults = append(step.Faults, wire.VerifyFault{Session: string(f.Session), What: f.Message})
			}
		}
		report(step)
	}})
	if err != nil {
		return err
	}
	step.Entries, step.Bytes, step.Faults = r.Entries, r.Bytes, nil
	report(step)
	return nil
}

// verifySession reads all records of a session, which the store checks against their hash
// chain, decodes every line, and adds the result to step.
func verifySession(ctx context.Context, side migrate.Side, id firn.ID, step *gateway.VerifyStep) error {
	d := native.New()
	fault := func(what string) {
		step.Faults = append(step.Faults, wire.VerifyFault{Session: string(id), What: what})
	}
	n := 0
	chain := hashchain.NewChecker(string(id))
	chain.Whole = true
	for line, err := range side.Lines(ctx, id) {
		n++
		switch {
		case errors.Is(err, firn.ErrNotFound):
			return nil // purged meanwhile
		case errors.Is(err, firn.ErrCorrupt):
			fault(err.Error())
			return nil
		case err != nil:
			return err
		}
		step.Bytes += int64(len(line)) + 1
		if !chain.Add(line) {
			fault(fmt.Sprintf("line %d: it does not match its hash: the line or one before it was changed, removed or inserted", n))
		}
		if len(bytes.TrimSpace(line)) == 0 {
			continue // blank lines, as left by editors
		}
		if _, err := d.Decode(line); err != nil {
			fault(fmt.Sprintf("line %d: %v", n, err))
			continue
		}
		step.Entries++
	}
	return nil
}
