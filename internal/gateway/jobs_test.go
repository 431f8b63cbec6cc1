package gateway

import (
	"context"
	"errors"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"firn.dev"
	"firn.dev/internal/gateway/maintenance"
	"firn.dev/store"
	"firn.dev/wire"
)

// deaf is a store that rejects machine messages and cannot remove sessions.
type deaf struct {
	store.Store
	refuse error
}

func (d *deaf) Unwrap() store.Store { return d.Store }

func (d *deaf) Append(ctx context.Context, id firn.ID, expect store.Pos, entries ...firn.Entry) (store.Pos, error) {
	for _, e := range entries {
		if _, ok := e.Body.(*firn.CustomMessage); ok {
			return 0, d.refuse
		}
	}
	return d.Store.Append(ctx, id, expect, entries...)
}

func (d *deaf) Remove(context.Context, firn.ID, string) error { return d.refuse }
func (d *deaf) Restore(context.Context, firn.ID) error        { return d.refuse }
func (d *deaf) Archive(context.Context, firn.ID) error        { return d.refuse }
func (d *deaf) Unarchive(context.Context, firn.ID) error      { return d.refuse }
func (d *deaf) Purge(context.Context, firn.ID, string, ...firn.EntryID) (store.Receipt, error) {
	return store.Receipt{}, d.refuse
}

// TestUnsavedMachineMessageFails checks that a machine message that cannot be stored fails
// for the caller and is not sent to the model.
func TestUnsavedMachineMessageFails(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		full := errors.Join(firn.ErrNotSaved, errors.New("the disk is full"))
		o := newJobGateway(t, &deaf{inMemory(), full}, time.Date(2026, 5, 1, 2, 0, 0, 0, time.UTC), func(s *Setup) {
			nightly(nil)(s)
			s.Hooks = map[string]Hook{"x": {Enabled: true}}
		})
		if _, err := o.Hook(t.Context(), "x", []byte(`{"text":"a"}`), nil); !errors.Is(err, firn.ErrNotSaved) {
			t.Errorf("the hook: %v", err)
		}
		if _, err := o.RunJob(t.Context(), "nightly"); !errors.Is(err, firn.ErrNotSaved) {
			t.Errorf("the job: %v", err)
		}
		o.start()
		o.pass(time.Hour)
		if j := o.job("nightly"); !strings.Contains(j.Error, "disk is full") || j.Running {
			t.Errorf("the job is %+v", j)
		}
		o.close()
		if len(o.asked) != 0 {
			t.Errorf("the model received %q", o.asked)
		}
	})
}

// TestMaintainFails checks that a session that cannot be removed is reported and does not
// affect the others.
func TestMaintainFails(t *testing.T) {
	o := shelf(t, inMemory(), time.Now())
	o.Store = &deaf{o.st, errors.New("no")}
	report, err := o.Maintain(t.Context(), maintenance.Settings{Enforce: true, PruneAfter: 50 * oneDay}, false)
	if err != nil || report.Failed != 3 || report.Removed != 0 || report.BytesBinned != 0 {
		t.Errorf("the result is %+v, %v", report, err)
	}
	for _, a := range report.Actions {
		if a.Outcome != wire.OutcomeFailed || a.Error != "no" {
			t.Errorf("the result is %+v", a)
		}
	}
	o.close()
}

// plain is a store without optional interfaces.
type plain struct{ store.Store }

// TestStoreWithoutExtras checks the error of a store without keys.
func TestStoreWithoutExtras(t *testing.T) {
	o := newJobGateway(t, plain{inMemory()}, time.Now(), nightly(nil))
	defer o.close()
	if _, err := o.RunJob(t.Context(), "nightly"); !errors.Is(err, firn.ErrUnsupported) {
		t.Errorf("to run a job: %v", err)
	}
	if _, err := o.Maintain(t.Context(), maintenance.Settings{}, true); !errors.Is(err, firn.ErrUnsupported) {
		t.Errorf("to clear away: %v", err)
	}
}
