package doctor_test

import (
	"context"
	"testing"

	"firn.dev/internal/disk/vfs/faultfs"
	"firn.dev/internal/ops/doctor"
)

// FuzzVerify reads arbitrary data as a transcript. It must not panic or write, and a repair
// must only append.
func FuzzVerify(f *testing.F) {
	for _, w := range damages() {
		f.Add([]byte(w.parts[0]))
	}
	f.Fuzz(func(t *testing.T, data []byte) {
		fs := faultfs.New()
		if err := fs.Put(transcript, data); err != nil {
			t.Fatal(err)
		}
		target, err := doctor.OpenHome(fs, "/h")
		if err != nil {
			t.Fatal(err)
		}
		report, err := doctor.Verify(context.Background(), target, doctor.Options{})
		if err != nil {
			t.Fatal(err)
		}
		if report.Bytes != int64(len(data)) {
			t.Errorf("%d of %d bytes were read", report.Bytes, len(data))
		}
		_ = report.Text()
		plan, err := doctor.MakePlan(context.Background(), target, doctor.Options{})
		if err != nil {
			t.Fatal(err)
		}
		if n := fs.Count(faultfs.Changing); n > 0 {
			t.Errorf("looking changed something: %v", fs.Log(faultfs.Changing))
		}
		checkRepair(t, fs, target, plan)
	})
}

// checkRepair repairs twice.
func checkRepair(t *testing.T, fs *faultfs.FS, target doctor.Target, plan *doctor.Plan) {
	done, err := doctor.Repair(context.Background(), target, doctor.Options{})
	if err != nil || done.Err() != nil {
		t.Fatal(err, done.Err())
	}
	check(t, "the repair did", actions(done), actions(plan))
	again, err := doctor.Repair(context.Background(), target, doctor.Options{})
	if err != nil {
		t.Fatal(err)
	}
	check(t, "the second repair did", actions(again), nil)
}
