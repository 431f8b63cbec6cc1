package cli

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"firn.dev"
	"firn.dev/client"
	"firn.dev/internal/ops/doctor"
	"firn.dev/internal/render/prose"
	"firn.dev/wire"
)

// checkCommands are the commands that check and repair a home.
type checkCommands struct{ *program }

func (p checkCommands) verifyCommand() *cobra.Command {
	o := &verifyOptions{}
	cmd := &cobra.Command{
		Use:     "verify [SESSION|FILE|DIRECTORY]",
		GroupID: "care",
		Short:   "Read every byte of sessions and report damage",
		Long: `Read every byte of one session, or of all sessions of the home, and report
damage. Nothing is changed.

Refer to a session by its id or the first 4 or more characters of it, its exact
title, @ and a key, - for the latest, or the path of its file, which may be
anywhere. A directory means all .jsonl files in it. For a whole home the
indexes are compared with the sessions too. Sessions in another store are
checked all together: every record is compared with its chain of hashes, and in
a cluster every message is compared on all servers; a server that lacks one is
named.

A line that firn writes ends with a hash over it and all lines before it. An
entry that was changed, removed, inserted or moved, and a transcript under
another session's name, are faults. Lines of other programs have no hash; the
next line that firn writes covers them.

--since compares the sessions with a signed file that firn anchor wrote: it
proves that they still contain all that they contained then, even if someone
recomputed all hashes or put an older copy in their place. --trust names the
public key that must have signed it.

--accept accepts the faults found: they are recorded in verify-accepted.jsonl in
the home and no longer count. Damage elsewhere, or other damage at the same
place, is a new fault. Differences from an anchor cannot be accepted.

Exits with 8 if there is a fault that was not accepted; warnings do not count.`,
		Example: "  firn verify\n  firn verify 0198c5a2\n  firn verify --since anchor.json\n  firn verify ~/.pi/agent/sessions --json\n  firn verify --accept --note 'restored from the backup'",
		Args:    atMostOne,
		RunE:    func(cmd *cobra.Command, args []string) error { return p.verify(cmd, args, o) },
	}
	cmd.Flags().BoolVar(&o.accept, "accept", false, "accept the faults found; they no longer count")
	cmd.Flags().StringVar(&o.note, "note", "", "with --accept, a `note` saved with them")
	cmd.Flags().StringVar(&o.since, "since", "", "compare with the anchor in this `file`")
	cmd.Flags().StringVar(&o.trust, "trust", "", "with --since, the public `key` that must have signed it")
	return cmd
}

// verifyOptions are the flags of firn verify.
type verifyOptions struct {
	accept             bool
	note, since, trust string
}

func (p checkCommands) verify(cmd *cobra.Command, args []string, o *verifyOptions) error {
	switch {
	case o.trust != "" && o.since == "":
		return &usageError{message: "--trust is about the anchor of --since", hint: "firn verify --since FILE --trust KEY"}
	case o.accept && o.since != "":
		return &usageError{message: "differences from an anchor cannot be accepted", hint: "run firn verify --accept without --since for the other faults"}
	}
	target, st, err := p.resolveTarget(cmd, args)
	if err != nil {
		return err
	}
	var heads []doctor.Head
	if o.since != "" {
		if heads, err = p.anchored(o.since, o.trust); err != nil {
			return err
		}
	}
	if st != nil && st.files == "" {
		if o.since != "" {
			return &hinted{fmt.Errorf("compare sessions that are not in files with an anchor: %w", firn.ErrUnsupported), "firn mirror copies them to files, which can be compared with --home"}
		}
		return p.with(readOnly, func(ctx context.Context, c *client.Client, args []string) error {
			return p.verifyRemote(ctx, c, args, st.home, o.accept, o.note)
		})(cmd, args)
	}
	bar := p.newBar("reading")
	report, err := doctor.VerifyAccepted(func(limit int) (*doctor.Report, error) {
		return doctor.Verify(cmd.Context(), target, doctor.Options{Progress: bar.Set, Limit: limit, Anchored: heads})
	}, target, o.accept, o.note, p.now())
	if err == nil {
		err = doctor.CompareIndexes(cmd.Context(), target, report)
	}
	bar.Clear()
	if err != nil {
		return err
	}
	return p.report(report)
}

// resolveTarget returns the files to check, or the sessions of the store in use, and then
// also the store. If the sessions are not in files, the target is empty. IDs and paths are
// resolved without a gateway, so that badly damaged sessions can be checked; other
// references are resolved by a gateway.
func (p checkCommands) resolveTarget(cmd *cobra.Command, args []string) (doctor.Target, *sessionStore, error) {
	if p.namesFile(args) {
		target, err := p.fileTarget(args[0])
		return target, nil, err
	}
	if len(args) == 0 {
		if err := p.mustBeOurs(); err != nil {
			return doctor.Target{}, nil, err
		}
	}
	st, err := p.storeInUse(cmd.Context())
	if err != nil || st.files == "" {
		return doctor.Target{}, st, err
	}
	find := func(id string) (doctor.Target, error) { return st.target([]string{id}) }
	if tool, dir, ok := p.foreign(); ok && len(args) > 0 {
		find = func(id string) (doctor.Target, error) { return p.foreignTarget(tool, dir, id) }
	}
	var target doctor.Target
	if len(args) == 0 {
		target, err = st.target(nil)
	} else {
		target, err = find(args[0])
	}
	if len(args) == 0 || !errors.Is(err, firn.ErrNotFound) {
		return target, st, err
	}
	notFound := err
	err = p.with(readOnly, func(ctx context.Context, c *client.Client, args []string) error {
		s, err := p.session(ctx, c, args[0])
		if err == nil {
			target, err = find(string(s.ID))
		}
		return err
	})(cmd, args)
	if errors.Is(err, firn.ErrNotFound) {
		err = &hinted{notFound, "give an id, its first 4 or more characters, an exact title, @key, - or a path; --home sets where to look"}
	}
	return target, st, err
}

// report prints a report and returns the error for the exit code.
func (p checkCommands) report(r *doctor.Report) error {
	if err := p.print(r, r.Text); err != nil {
		return err
	}
	if !r.OK() {
		return errIntegrity
	}
	return nil
}

// remoteReport is the result of checking sessions that are not in files.
type remoteReport struct {
	OK bool `json:"ok"`
	wire.Verified
	Differences []wire.IndexDifference `json:"differences,omitempty"`
	Accepted    []doctor.Finding       `json:"accepted,omitempty"`
}

// setAside removes the faults that were accepted before, or with accept all of them.
func (r *remoteReport) setAside(home string, accept bool, note string, now time.Time) error {
	faults := make([]doctor.Finding, len(r.Faults))
	for i, f := range r.Faults {
		faults[i] = doctor.Finding{Severity: doctor.Fault, Session: firn.ID(f.Session), Message: f.What}
	}
	left, accepted, err := doctor.AcceptThere(home, faults, accept, note, now)
	r.Faults, r.Accepted = nil, accepted
	for _, f := range left {
		r.Faults = append(r.Faults, wire.VerifyFault{Session: string(f.Session), What: f.Message})
	}
	r.OK = len(r.Faults) == 0
	return err
}

// verifyRemote has the gateway check all sessions and its indexes, and prints the result.
func (p checkCommands) verifyRemote(ctx context.Context, c *client.Client, args []string, home string, accept bool, note string) error {
	if len(args) > 0 {
		return &usageError{message: "sessions that are not in files are checked all together", hint: "run firn verify without a name"}
	}
	r, err := p.checkRemote(ctx, c)
	if err != nil {
		return err
	}
	if err := r.setAside(home, accept, note, p.now()); err != nil {
		return err
	}
	if err := p.print(r, r.text); err != nil || r.OK {
		return err
	}
	return errIntegrity
}

// checkRemote has the gateway check all sessions and its indexes, and waits for the result.
func (p checkCommands) checkRemote(ctx context.Context, c *client.Client) (*remoteReport, error) {
	v, err := c.Verify(ctx)
	if err != nil {
		return nil, err
	}
	bar := p.newBar("reading")
	tick := time.NewTicker(indexPoll)
	defer tick.Stop()
	for v.Done.IsZero() {
		bar.Count(int64(v.Sessions), int64(v.Of), "sessions")
		select {
		case <-tick.C:
		case <-ctx.Done():
			return nil, ctx.Err()
		}
		ops, err := c.Ops(ctx)
		if err != nil {
			return nil, err
		}
		if ops.Verified != nil {
			v = *ops.Verified
		}
	}
	bar.Clear()
	if v.Error != "" {
		return nil, fmt.Errorf("the check did not finish: %s", v.Error)
	}
	index, err := c.Index.Check(ctx)
	if err != nil {
		return nil, err
	}
	return &remoteReport{OK: len(v.Faults) == 0, Verified: v, Differences: index.Differences}, nil
}

func (r *remoteReport) text() string {
	var b strings.Builder
	for _, f := range r.Faults {
		fmt.Fprintf(&b, "fault  %s\n       %s\n", prose.Clean(f.Session), prose.Clean(f.What))
	}
	for _, d := range r.Differences {
		fmt.Fprintf(&b, "info   index %s %s: %s; it is updated at the next use\n", d.Index, prose.Clean(d.Session), prose.Clean(d.Detail))
	}
	read := fmt.Sprintf("%s, %s, %s", prose.Plural(r.Of, "session"), prose.Count(r.Entries, "entry", "entries"), prose.Size(r.Bytes))
	if r.OK {
		fmt.Fprintf(&b, "✓ %s: no faults\n", read)
	} else {
		fmt.Fprintf(&b, "✗ %s: %s\n", read, prose.Plural(len(r.Faults), "fault"))
	}
	if n := len(r.Accepted); n > 0 {
		fmt.Fprintf(&b, "  %s accepted (%s)\n", prose.Plural(n, "fault"), doctor.AcceptedName)
	}
	return b.String()
}
