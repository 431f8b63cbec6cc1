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

// Action is one thing that a repair does.
type Action string

// The actions of a repair. Each of them only adds to a transcript, but for
// ActSaveTail.
const (
	// ActReplay puts back what a power cut took and the commit log still has.
	ActReplay Action = "replay-log"
	// ActNewline ends a last line that is whole.
	ActNewline Action = "add-newline"
	// ActSaveTail copies an unfinished last line to a file of its own and cuts
	// it off, as every writer does on opening the transcript.
	ActSaveTail Action = "save-tail"
	// ActStandIn appends an entry in the place of a lost one.
	ActStandIn Action = "stand-in"
	// ActMoveHead appends an entry that says where the session goes on.
	ActMoveHead Action = "move-head"
)

// Step is one step of a repair.
type Step struct {
	Session firn.ID `json:"session,omitempty"`
	File    string  `json:"file,omitempty"`
	Action  Action  `json:"action"`
	Message string  `json:"message"`
	// Cut counts the bytes that are cut off and saved; SavedTo is where, once
	// it is done.
	Cut     int64  `json:"cut,omitempty"`
	SavedTo string `json:"savedTo,omitempty"`
}

// Plan is what a repair does, or has done.
type Plan struct {
	Root string `json:"root"`
	// Applied says that the steps were done and not only planned.
	Applied bool   `json:"applied"`
	Steps   []Step `json:"steps"`
	// Left are the faults that adding to a file cannot mend.
	Left []Finding `json:"left"`
	// Failed says of which sessions the repair failed, and why.
	Failed []Failure `json:"failed,omitempty"`
}

// Failure is a repair of one session that failed.
type Failure struct {
	Session firn.ID `json:"session"`
	Message string  `json:"message"`
	// Cause is the error that the message tells.
	Cause error `json:"-"`
}

// Err returns the first failure as an error; nil if there is none.
func (p *Plan) Err() error {
	if len(p.Failed) == 0 {
		return nil
	}
	return p.Failed[0].Cause
}

// MakePlan says what Repair would do now. It changes nothing.
func MakePlan(ctx context.Context, target Target, opts Options) (*Plan, error) {
	s := newSurgery(ctx, target, opts)
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
	s.ward.progress.end()
	return s.plan, nil
}

// Repair does what MakePlan says. What somebody else appends to a session at
// the same time makes the repair of that one fail with ErrConflict, and can be
// tried again. Repairing what was repaired does nothing.
func Repair(ctx context.Context, target Target, opts Options) (*Plan, error) {
	s := newSurgery(ctx, target, opts)
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
	s.ward.progress.end()
	return s.plan, nil
}

// surgery is one round of repairs over a target.
type surgery struct {
	*ward
	plan *Plan
}

func newSurgery(ctx context.Context, target Target, opts Options) *surgery {
	opts.Limit = 1 << 30 // what is left must be told in full
	return &surgery{
		ward: newWard(ctx, target, opts),
		plan: &Plan{Root: target.Root, Steps: []Step{}, Left: []Finding{}},
	}
}

// planReplay looks for commit logs that wait, and returns the homes that have
// them.
func (s *surgery) planReplay() (waiting []string, err error) {
	for _, home := range s.target.homes() {
		n, err := journal.PendingLogs(s.fs, home)
		if err != nil {
			return nil, fmt.Errorf("plan the repair of %s: %w", s.target.Root, err)
		}
		if n > 0 {
			waiting = append(waiting, home)
			s.plan.Steps = append(s.plan.Steps, Step{
				Action: ActReplay, File: s.relative(filepath.Join(home, "commit")),
				Message: fmt.Sprintf("replay %s: put back what a power cut took from transcripts, and then remove the logs", plural(n, "commit log")),
			})
		}
	}
	return waiting, nil
}

// replay puts back what commit logs have. It comes first: the end of a
// transcript must not be judged before.
func (s *surgery) replay() error {
	waiting, err := s.planReplay()
	for _, home := range waiting {
		done, err := journal.Replay(s.fs, home)
		if err != nil {
			return fmt.Errorf("repair %s: %w", s.target.Root, err)
		}
		for _, r := range done {
			message := fmt.Sprintf("%s put back from the commit log", plural(int(r.Restored), "byte"))
			if r.Skipped != "" {
				message = "not put back from the commit log: " + r.Skipped
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

// planSession adds what can be done for a session to the plan.
func (s *surgery) planSession(e *exam) {
	steps, mended := e.treatment(time.Now())
	s.plan.Steps = append(s.plan.Steps, steps...)
	s.leave(e, mended)
}

// leave lists the faults of a session that stay.
func (s *surgery) leave(e *exam, mended func(Finding) bool) {
	for _, f := range s.report.Findings {
		if f.Severity == Fault && f.Session == e.session && !mended(f) {
			f.Hint = ""
			s.plan.Left = append(s.plan.Left, f)
		}
	}
	s.report.Findings = s.report.Findings[:0]
}

// treatment lists the steps that mend a transcript, and tells which findings
// they mend.
func (e *exam) treatment(now time.Time) (steps []Step, mended func(Finding) bool) {
	beginning := len(e.parts) > 0 && e.parts[0].Number == 0 // else opening it would make an empty one
	if e.binned || !e.native() || e.failed || !beginning {
		return nil, func(Finding) bool { return false }
	}
	remedy := e.remedy(now)
	steps = append(e.tailSteps(), e.sessionSteps(remedy)...)
	at := make(map[firn.Pos]bool)
	for n := range remedy.mended {
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

// remedy is what mends the links of a session. While a line is too long to be
// read nothing is lost, and a stand-in for its entry would be in its way.
func (e *exam) remedy(now time.Time) remedy {
	if e.skipped || len(e.dangling) == 0 && !e.twice {
		return remedy{}
	}
	return mend(e.session, &e.tree, now)
}

// sessionSteps are the steps of a remedy, with the session they are for.
func (e *exam) sessionSteps(r remedy) []Step {
	steps := slices.Clone(r.steps)
	for i := range steps {
		steps[i].Session, steps[i].File = e.session, e.lastFile()
	}
	return steps
}

// lastFile is the part that is appended to.
func (e *exam) lastFile() string {
	if len(e.parts) == 0 {
		return e.w.relative(e.base)
	}
	return e.w.relative(e.parts[len(e.parts)-1].Path)
}

// tailSteps says what opening the transcript to append does to its end.
func (e *exam) tailSteps() []Step {
	var steps []Step
	f := e.fragment
	if cut := f.cut(); cut > 0 {
		steps = append(steps, Step{
			Session: e.session, File: e.lastFile(), Action: ActSaveTail, Cut: cut,
			Message: fmt.Sprintf("copy the unfinished last line (%s at byte %s) to %s.torn-%d, then cut it off here",
				plural(int(cut), "byte"), prose.Grouped(f.offset+f.keep), filepath.Base(e.lastFile()), f.offset+f.keep),
		})
	}
	if f.keep > 0 {
		steps = append(steps, Step{
			Session: e.session, File: e.lastFile(), Action: ActNewline,
			Message: "append the newline that the last line lacks",
		})
	}
	return steps
}

// repairSession mends one transcript.
func (s *surgery) repairSession(t transcript) error {
	before, err := s.examine(t)
	if err != nil {
		return err
	}
	steps, mended := before.treatment(time.Now())
	if len(steps) == 0 {
		s.leave(before, mended)
		return nil
	}
	s.report.Findings = s.report.Findings[:0]
	after, err := s.operate(before)
	if err != nil {
		return fmt.Errorf("repair session %s: %w", t.session, err)
	}
	s.leave(after, func(Finding) bool { return false })
	return nil
}

// operate opens the transcript, which puts its end in order, appends what the
// examination of the file as it then is calls for, and examines it again.
func (s *surgery) operate(before *exam) (after *exam, err error) {
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

// appendRemedy appends the remedy for the file as it is now, if its end is
// still there when it comes to that.
func (s *surgery) appendRemedy(j *journal.Journal, t transcript) error {
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
			return nil, fmt.Errorf("%w: somebody is appending to it", firn.ErrConflict)
		}
		return encode(ready)
	})
	if err != nil {
		return err
	}
	s.plan.Steps = append(s.plan.Steps, e.sessionSteps(remedy)...)
	return nil
}

// encode spells entries as lines.
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
