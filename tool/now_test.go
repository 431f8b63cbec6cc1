package tool_test

import (
	"errors"
	"testing"
	"time"

	"firn.dev"
	"firn.dev/tool"
)

func TestNow(t *testing.T) {
	clock := func() time.Time { return time.Date(2026, 3, 1, 23, 30, 5, 6, time.UTC) }
	now := tool.Now(clock)
	for zone, want := range map[string]string{
		"UTC":            "2026-03-01T23:30:05Z, Sunday (UTC; week 9)",
		"utc":            "2026-03-01T23:30:05Z, Sunday (UTC; week 9)",
		"Europe/Berlin":  "2026-03-02T00:30:05+01:00, Monday (Europe/Berlin, CET; week 10)",
		"Asia/Kathmandu": "2026-03-02T05:15:05+05:45, Monday (Asia/Kathmandu; week 10)",
		"+02:00":         "2026-03-02T01:30:05+02:00, Monday (UTC+02:00; week 10)",
		"UTC-3":          "2026-03-01T20:30:05-03:00, Sunday (UTC-03:00; week 9)",
		"-0930":          "2026-03-01T14:00:05-09:30, Sunday (UTC-09:30; week 9)",
	} {
		if got := call(t, now, args{"zone": zone}); got != want {
			t.Errorf("in %s it is %q, want %q", zone, got, want)
		}
	}
	local := details[struct{ Time time.Time }](t, result(t, now, nil))
	if !local.Time.Equal(clock()) {
		t.Errorf("without a zone it is %v", local.Time)
	}
	for _, zone := range []string{"Mars/Base", "../../etc/passwd", "/etc/passwd", "+99:00", "+", "CET+1x", "a\nb"} {
		if err := fails(t, now, args{"zone": zone}); !errors.Is(err, firn.ErrInvalid) {
			t.Errorf("%s: %v", zone, err)
		}
	}
}

func TestNowUsesSystemClock(t *testing.T) {
	before := time.Now().Truncate(time.Second)
	at := details[struct{ Time time.Time }](t, result(t, tool.Now(nil), nil)).Time
	if at.Before(before) || at.After(time.Now()) {
		t.Errorf("it is %v, reported as %v", before, at)
	}
}
