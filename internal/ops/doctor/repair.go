package doctor

import (
	"context"
	"errors"
	"fmt"
	"path/filepath"
	"slices"
	"time"

	"firn.dev"
	"firn.dev/internal/disk/journal"
	"firn.dev/internal/formats/dialect/native"
	"firn.dev/internal/render/prose"
)

// Action is a kind of repair step.
type Action string

// The actions of a repair. All except ActSaveTail only append.
const (
	// ActReplay restores data from the commit log after a power failure.
	ActReplay Action = "replay-log"
	// ActNewline terminates a complete last line.
	ActNewline Action = "add-newline"
	// ActSaveTail copies an unfinished last line to a separate file and truncates it, as
	// every writer does on opening the transcript.
	ActSaveTail Action = "save-tail"
	// ActPlaceholder appends a replacement for a lost entry.
	ActPlaceholder Action = "stand-in"
	// ActMoveHead appends an entry that sets the head of the session.
	ActMoveHead Action = "move-head"
)

// Step is one step of a repair.
type Step struct {
	Session firn.ID `json:"session,omitempty"`
	File    string  `json:"file,omitempty"`
	Action  Action  `json:"action"`
	Message string  `json:"message"`
	// Cut is the number of bytes truncated and saved. SavedTo is the path, once done.
	Cut     int64  `json:"cut,omitempty"`
	SavedTo string `json:"savedTo,omitempty"`
}

// Plan is a planned or completed repair.
type Plan struct {
	Root string `json:"root"`
	// Applied is set if the steps were carried out.
	Applied bool   `json:"applied"`
	Steps   []Step `json:"steps"`
	// Left are the faults that cannot be repaired by appending.
	Left []Finding `json:"left"`
	// Failed lists the sessions whose repair failed.
	Failed []Failure `json:"failed,omitempty"`
}

// Failure is a failed repair of one session.
type Failure struct {
	Session firn.ID `json:"session"`
	Message string  `json:"message"`
	// Cause is the error described by Message.
	Cause error `json:"-"`
}

// Err returns the first failure as an error, or nil if there is none.
func (p *Plan) Err() error {
	if len(p.Failed) == 0 {
		return nil
	}
	return p.Failed[0].Cause
}

// MakePlan returns the plan that Repair would carry out now. It changes nothing.
func MakePlan(ctx context.Context, target Target, opts Options) (*Plan, error) {
	s := newRepairer(ctx, target, opts)
	if _, err := s.planReplay(); err != nil {
		return nil, err
	}
	for _, t := range target.transcripts {
		e, err := s.examine(t)
		if err != nil {
			return nil, err
		}
		s.planSession(e)
	}
	s.verifier.progress.end()
	return s.plan, nil
}

// Repair carries out the plan of MakePlan. If another process appends to a session
// meanwhile, its repair fails with ErrConflict and can be retried. Repairing again has no
// effect.
func Repair(ctx context.Context, target Target, opts Options) (*Plan, error) {
	s := newRepairer(ctx, target, opts)
	s.plan.Applied = true
	if err := s.replay(); err != nil {
		return nil, err
	}
	for _, t := range s.target.transcripts {
		if err := ctx.Err(); err != nil {
			return s.plan, err
		}
		if err := s.repairSession(t); err != nil {
			if ctx.Err() != nil {
				return s.plan, ctx.Err()
			}
			s.plan.Failed = append(s.plan.Failed, Failure{Session: t.session, Message: err.Error(), Cause: err})
		}
	}
	s.verifier.progress.end()
	return s.plan, nil
}

// repairer is one repair run over a target.
type repairer struct {
	*verifier
	plan *Plan
}

func newRepairer(ctx context.Context, target Target, opts Options) *repairer {
	opts.Limit = 1 << 30 // unrepaired faults are listed in full
	return &repairer{
		verifier: newVerifier(ctx, target, opts),
		plan:     &Plan{Root: target.Root, Steps: []Step{}, Left: []Finding{}},
	}
}

// planReplay looks for pending commit logs and returns the homes that have them.
func (s *repairer) planReplay() (waiting []string, err error) {
	for _, home := range s.target.homes() {
		n, err := journal.PendingLogs(s.fs, home)
		if err != nil {
			return nil, fmt.Errorf("plan the repair of %s: %w", s.target.Root, err)
		}
		if n > 0 {
			waiting = append(waiting, home)
			s.plan.Steps = append(s.plan.Steps, Step{
				Action: ActReplay, File: s.relative(filepath.Join(home, "commit")),
				Message: fmt.Sprintf("replay %s: restore entries that a power failure removed from transcripts, then remove the logs", plural(n, "commit log")),
			})
		}
	}
	return waiting, nil
}

// replay replays commit logs. It runs first, since it may change the end of a transcript.
func (s *repairer) replay() error {
	waiting, err := s.planReplay()
	for _, home := range waiting {
		done, err := journal.Replay(s.fs, home)
		if err != nil {
			return fmt.Errorf("repair %s: %w", s.target.Root, err)
		}
		for _, r := range done {
			message := fmt.Sprintf("%s restored from the commit log", plural(int(r.Restored), "byte"))
			if r.Skipped != "" {
				message = "not restored from the commit log: " + r.Skipped
			}
			s.plan.Steps = append(s.plan.Steps, Step{Session: stemID(journal.BasePath(r.Path)), File: s.relative(r.Path), Action: ActReplay, Message: message})
		}
	}
	if err == nil && len(waiting) > 0 && s.target.Whole {
		limit := s.target.MaxLine
		s.target, err = OpenHome(s.fs, s.target.Root)
		s.target.MaxLine = limit
	}
	return err
}

// planSession adds the steps for a session to the plan.
func (s *repairer) planSession(e *exam) {
	steps, repaired := e.repairSteps(time.Now())
	s.plan.Steps = append(s.plan.Steps, steps...)
	s.addUnrepaired(e, repaired)
}

// addUnrepaired lists the remaining faults of a session.
func (s *repairer) addUnrepaired(e *exam, repaired func(Finding) bool) {
	for _, f := range s.report.Findings {
		if f.Severity == Fault && f.Session == e.session && !repaired(f) {
			f.Hint = ""
			s.plan.Left = append(s.plan.Left, f)
		}
	}
	s.report.Findings = s.report.Findings[:0]
}

// repairSteps returns the steps that repair a transcript, and a function that reports
// whether they repair a finding.
func (e *exam) repairSteps(now time.Time) (steps []Step, repaired func(Finding) bool) {
	beginning := len(e.parts) > 0 && e.parts[0].Number == 0 // otherwise opening it would create an empty file
	if e.binned || !e.native() || e.failed || !beginning {
		return nil, func(Finding) bool { return false }
	}
	remedy := e.remedy(now)
	steps = append(e.tailSteps(), e.sessionSteps(remedy)...)
	at := make(map[firn.Pos]bool)
	for n := range remedy.repaired {
		at[e.tree.Node(n).At] = true
	}
	return steps, func(f Finding) bool {
		switch f.Kind {
		case Torn, NUL, Damaged:
			return f.File == e.lastFile() && e.fragment.cuts(f.At.Offset)
		case Dangling, Cycle:
			part := slices.IndexFunc(e.parts, func(p journal.Part) bool { return e.w.relative(p.Path) == f.File })
			return part >= 0 && at[journal.Place(e.parts[part].Number, f.At.Offset)]
		}
		return false
	}
}

// remedy returns the remedy for the links of a session. If a line was too long to be read,
// its entries are not lost and must not be replaced.
func (e *exam) remedy(now time.Time) remedy {
	if e.skipped || len(e.dangling) == 0 && !e.twice {
		return remedy{}
	}
	return planLinkRepair(e.session, &e.tree, now)
}

// sessionSteps returns the steps of a remedy with the session and file filled in.
func (e *exam) sessionSteps(r remedy) []Step {
	steps := slices.Clone(r.steps)
	for i := range steps {
		steps[i].Session, steps[i].File = e.session, e.lastFile()
	}
	return steps
}

// lastFile returns the part that is appended to.
func (e *exam) lastFile() string {
	if len(e.parts) == 0 {
		return e.w.relative(e.base)
	}
	return e.w.relative(e.parts[len(e.parts)-1].Path)
}

// tailSteps returns the steps that opening the transcript for appending performs at its
// end.
func (e *exam) tailSteps() []Step {
	var steps []Step
	f := e.fragment
	if cut := f.cut(); cut > 0 {
		steps = append(steps, Step{
			Session: e.session, File: e.lastFile(), Action: ActSaveTail, Cut: cut,
			Message: fmt.Sprintf("copy the incomplete last line (%s at byte %s) to %s.torn-%d, then cut it off here",
				plural(int(cut), "byte"), prose.Grouped(f.offset+f.keep), filepath.Base(e.lastFile()), f.offset+f.keep),
		})
	}
	if f.keep > 0 {
		steps = append(steps, Step{
			Session: e.session, File: e.lastFile(), Action: ActNewline,
			Message: "append the missing newline to the last line",
		})
	}
	return steps
}

// repairSession repairs one transcript.
func (s *repairer) repairSession(t transcript) error {
	before, err := s.examine(t)
	if err != nil {
		return err
	}
	steps, repaired := before.repairSteps(time.Now())
	if len(steps) == 0 {
		s.addUnrepaired(before, repaired)
		return nil
	}
	s.report.Findings = s.report.Findings[:0]
	after, err := s.repairFile(before)
	if err != nil {
		return fmt.Errorf("repair session %s: %w", t.session, err)
	}
	s.addUnrepaired(after, func(Finding) bool { return false })
	return nil
}

// repairFile opens the transcript, which repairs its end, examines it, appends the remedy,
// and examines it again.
func (s *repairer) repairFile(before *exam) (after *exam, err error) {
	saved := ""
	j, err := journal.Open(s.fs, before.base, journal.Options{MaxLine: s.target.MaxLine, Report: func(r journal.Repair) { saved = r.SavedTo }})
	if err != nil {
		return nil, err
	}
	defer func() { err = errors.Join(err, j.Close()) }()
	for _, step := range before.tailSteps() {
		if step.Action == ActSaveTail {
			step.SavedTo = s.relative(saved)
		}
		s.plan.Steps = append(s.plan.Steps, step)
	}
	if err := s.appendRemedy(j, before.transcript); err != nil {
		return nil, err
	}
	return s.examine(before.transcript)
}

// appendRemedy appends the remedy for the current file, unless its end changes meanwhile.
func (s *repairer) appendRemedy(j *journal.Journal, t transcript) error {
	expect := j.End()
	e, err := s.examine(t)
	if err != nil {
		return err
	}
	s.report.Findings = s.report.Findings[:0]
	remedy := e.remedy(time.Now())
	if len(remedy.entries) == 0 {
		return nil
	}
	ready, err := prepare(t.session, &e.tree, time.Now(), remedy.entries)
	if err != nil {
		return err
	}
	_, err = j.Append(false, func(end firn.Pos) ([]byte, error) {
		if end != expect {
			return nil, fmt.Errorf("%w: another process is appending to it", firn.ErrConflict)
		}
		return encode(ready)
	})
	if err != nil {
		return err
	}
	s.plan.Steps = append(s.plan.Steps, e.sessionSteps(remedy)...)
	return nil
}

// encode encodes entries as lines.
func encode(entries []firn.Entry) ([]byte, error) {
	var lines []byte
	for _, entry := range entries {
		var err error
		if lines, err = native.New().Append(lines, entry); err != nil {
			return nil, err
		}
		lines = append(lines, '\n')
	}
	return lines, nil
}
