package doctor_test

import (
	"testing"

	"firn.dev/internal/ops/doctor"
)

func TestReportText(t *testing.T) {
	r := doctor.Report{
		Root: "/h", Sessions: 1284, Files: 1290, Entries: 51234, Bytes: 52_400_000, Faults: 12, Warnings: 1, Faulty: 2,
		Findings: []doctor.Finding{
			{
				Severity: doctor.Fault, Kind: doctor.Dangling, Session: "s", File: "agents/main/sessions/s.jsonl",
				At: &doctor.Place{Line: 3, Offset: 12345}, Entry: "a\x1b[31m", Message: "Its parent \x1b]0;x\a\u202e is lost.", Hint: "mend it",
			},
			{Severity: doctor.Info, Kind: doctor.SideFile, File: "s.jsonl.torn-7", Message: "Saved.", Repaired: true},
			{Severity: doctor.Warn, Kind: doctor.DiskSpace, Message: "Little is left."},
		},
		Unlisted: map[doctor.Kind]int{doctor.Torn: 9, doctor.NUL: 1000},
		Checks: []doctor.Check{
			{Name: "transcripts", Result: "1,284 sessions", Worst: doctor.Fault},
			{Name: "disk", Result: "10 MB free", Worst: doctor.Warn},
			{Name: "bin", Result: "empty", Worst: doctor.Info},
		},
	}
	const want = `✗ transcripts  1,284 sessions
! disk         10 MB free
✓ bin          empty

fault  dangling-parent  agents/main/sessions/s.jsonl:3 (byte 12,345) entry a\x1b[31m
       Its parent \x1b]0;x\a\u202e is lost.
       hint: mend it
info   saved-aside  s.jsonl.torn-7 [repaired]
       Saved.
warn   disk-space
       Little is left.
…      1,000 more of kind nul
…      9 more of kind torn

✗ 1,284 sessions, 51,234 entries, 52 MB: 12 faults in 2 sessions, 1 warning
`
	if got := r.Text(); got != want {
		t.Errorf("the report is\n%s\nwant\n%s", got, want)
	}
}

func TestPlanText(t *testing.T) {
	p := doctor.Plan{
		Applied: true,
		Steps: []doctor.Step{
			{Action: doctor.ActSaveTail, File: "s.jsonl", Message: "Copy it.", Cut: 1234, SavedTo: "s.jsonl.torn-7"},
			{Action: doctor.ActMoveHead, File: "s.jsonl", Message: "Append it."},
		},
		Failed: []doctor.Failure{{Session: "t", Message: "The disk is full."}},
		Left:   []doctor.Finding{{Severity: doctor.Fault, Kind: doctor.NUL, File: "s.jsonl", At: &doctor.Place{Line: 1}, Message: "Zeros."}},
	}
	const want = `✓ save-tail    s.jsonl
  Copy it.
  saved as s.jsonl.torn-7
✓ move-head    s.jsonl
  Append it.
✗ failed       t
  The disk is full.

1 fault that cannot be repaired by appending:
fault  nul  s.jsonl:1 (byte 0)
       Zeros.

2 steps done; 1,234 bytes moved to separate files, none removed
`
	if got := p.Text(); got != want {
		t.Errorf("the plan is\n%s\nwant\n%s", got, want)
	}
}
