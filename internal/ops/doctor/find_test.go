package doctor_test

import (
	"errors"
	"testing"

	"firn.dev"
	"firn.dev/internal/disk/vfs/faultfs"
	"firn.dev/internal/ops/doctor"
)

func TestFind(t *testing.T) {
	fs := faultfs.New()
	for _, name := range []string{
		"/h/agents/main/sessions/abcd1111.jsonl", "/h/agents/main/sessions/abcd2222.jsonl", "/h/agents/main/sessions/abcd.jsonl",
		"/h/agents/other/sessions/beef0001.jsonl", "/h/bin/gone0001/gone0001.jsonl",
		"/d/a.jsonl", "/d/a_part2.jsonl", "/d/sub/b.jsonl", "/d/plain.txt", "/empty/x",
	} {
		if err := fs.Put(name, []byte(ok)); err != nil {
			t.Fatal(err)
		}
	}
	cases := []struct {
		name     string
		sessions int
		err      error
	}{
		{"abcd1111", 1, nil},
		{"abcd", 1, nil}, // an exact ID, although others begin with it
		{"beef", 1, nil},
		{"gone0001", 1, nil},
		{"abcd3", 0, firn.ErrNotFound},
		{"bee", 0, firn.ErrNotFound}, // too short
		{"", 0, firn.ErrInvalid},
		{"/d/a.jsonl", 1, nil},
		{"/d/a_part2.jsonl", 1, nil},
		{"/d/plain.txt", 1, nil},
		{"/d/none.jsonl", 0, firn.ErrNotFound},
		{"/d", 2, nil},
		{"/empty", 0, firn.ErrNotFound},
		{"/h", 5, nil},
	}
	for _, c := range cases {
		target, err := doctor.Find(fs, "/h", c.name)
		if !errors.Is(err, c.err) {
			t.Errorf("%q: the error is %v, want %v", c.name, err, c.err)
			continue
		}
		if err != nil {
			continue
		}
		report, err := doctor.Verify(t.Context(), target, doctor.Options{})
		if err != nil || report.Sessions != c.sessions {
			t.Errorf("%q: %d sessions, %v; want %d", c.name, report.Sessions, err, c.sessions)
		}
	}
	var many *doctor.Ambiguous
	if err := fs.Remove("/h/agents/main/sessions/abcd.jsonl"); err != nil {
		t.Fatal(err)
	}
	if _, err := doctor.Find(fs, "/h", "abcd"); !errors.As(err, &many) || len(many.Sessions) != 2 {
		t.Errorf("abcd: the error is %v", err)
	}
}
