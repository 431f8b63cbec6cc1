package chat

import (
	"cmp"
	"context"
	"errors"
	"fmt"

	"firn.dev"
	"firn.dev/client"
	"firn.dev/internal/base/failure"
	"firn.dev/internal/base/route"
	"firn.dev/internal/render/prose"
	"firn.dev/wire"
)

// chooseLatest resumes the latest session of the project: one that was started in it, on this
// machine or, for a synced repository, on another one. If there is none, it is the latest one
// with messages from the project, and its title and directory are printed.
func (c opener) chooseLatest(ctx context.Context) error {
	if c.o.Project == "" {
		s, err := c.latest(ctx, c.latestOfAll)
		if err != nil {
			return err
		}
		return c.take(ctx, s)
	}
	s, err := c.latest(ctx, c.latestOfProject)
	if err != nil && !errors.Is(err, firn.ErrNotFound) {
		return err
	}
	missing := err
	other, found, err := c.sessionElsewhere(ctx)
	switch {
	case err != nil:
		return err
	case found && !other.Archived && !isAutomated(other.Key) && (missing != nil || !c.beganHere(s) || other.Updated.After(s.Updated)):
		return c.takeElsewhere(ctx, other)
	case missing != nil:
		return missing
	}
	if !c.beganHere(s) {
		c.screen.printf("resuming %s%s, which was started in %s", prose.Short(s.ID), quotedTitle(s), c.place(cmp.Or(s.CWD, "another place")))
	}
	return c.take(ctx, s)
}

// takeElsewhere makes the session of the repository on another machine the current one.
func (c opener) takeElsewhere(ctx context.Context, s wire.Session) (err error) {
	if err := c.take(ctx, s); err != nil {
		return err
	}
	c.shared.from = s.CWD
	c.key, err = c.projectKey(c.name)
	return err
}

// latest returns the latest session of the agent. Without an Agent option it falls back to the
// sessions of all agents.
func (c opener) latest(ctx context.Context, find func(ctx context.Context, agentName string) (wire.Session, error)) (wire.Session, error) {
	s, err := find(ctx, cmp.Or(c.o.Agent, "main"))
	if errors.Is(err, firn.ErrNotFound) && c.o.Agent == "" {
		// A session folder of another tool has no firn agents.
		if other, err := find(ctx, ""); !errors.Is(err, firn.ErrNotFound) {
			return other, err
		}
	}
	return s, err
}

// latestOfAll returns the latest session of an agent, or of all, that is not automated.
func (c opener) latestOfAll(ctx context.Context, agentName string) (wire.Session, error) {
	s, passed, err := c.latestInteractive(ctx, client.Query{Agent: agentName}, func(wire.Session) bool { return true })
	if err != nil || s.ID != "" {
		return s, err
	}
	return s, c.noneToResume(ctx, client.Query{Agent: agentName}, passed)
}

// latestOfProject returns the latest session of an agent, or of all, that was started in the
// project and is not automated. If there is none, it is the latest one with messages from it.
func (c opener) latestOfProject(ctx context.Context, agentName string) (wire.Session, error) {
	q := client.Query{Agent: agentName, Under: c.o.Project}
	s, passed, err := c.latestInteractive(ctx, q, c.beganHere)
	if err != nil || s.ID != "" {
		return s, err
	}
	return s, c.noneToResume(ctx, q, passed)
}

// latestInteractive returns the latest session that is not automated and that is preferred, or
// else the latest that is not. It prints that automated ones were skipped, and returns them if
// there is no other.
func (c opener) latestInteractive(ctx context.Context, q client.Query, preferred func(wire.Session) bool) (found wire.Session, passed []firn.ID, err error) {
	for s, err := range c.client.Sessions(ctx, q) {
		if err != nil {
			return wire.Session{}, nil, err
		}
		if isAutomated(s.Key) {
			passed = append(passed, s.ID)
			continue
		}
		if preferred(s) {
			found = s
			break
		}
		if found.ID == "" {
			found = s
		}
	}
	if found.ID != "" && len(passed) > 0 {
		c.screen.printf("skipped %s of jobs, hooks or agents; latest %s (-r)", prose.Plural(len(passed), "newer session"), passed[0])
	}
	return found, passed, nil
}

// noneToResume returns the error for a query without a session to resume.
func (c opener) noneToResume(ctx context.Context, q client.Query, passed []firn.ID) error {
	missing := &Problem{
		Err:  failure.Of(firn.ErrNotFound, "agent %s has no session to resume", prose.Clean(cmp.Or(q.Agent, "main"))),
		Hint: "run firn chat to start one",
	}
	if q.Under != "" {
		missing.Err = failure.Of(firn.ErrNotFound, "there is no session to resume in %s", c.place(q.Under))
		missing.Hint += "; -r chooses from all sessions"
	}
	if len(passed) > 0 {
		missing.Hint += fmt.Sprintf("; firn chat -r %s resumes one started by a job, hook or agent", passed[0])
	}
	q.Archived, q.Limit = true, 1
	if page, err := c.client.SessionsPage(ctx, q); err == nil && len(page.Items) > 0 { // on errors the hint is left out
		missing.Hint += fmt.Sprintf("; firn chat -r %s resumes the latest archived one", prose.Short(page.Items[0].ID))
	}
	return missing
}

// beganHere reports whether a session was started in the project, or has its key or that of
// its repository.
func (c opener) beganHere(s wire.Session) bool {
	if isBelow(s.CWD, c.o.Project) {
		return true
	}
	k, err := route.Parse(s.Key)
	if err != nil {
		return false
	}
	own, err := c.projectKey(k.Agent())
	return err == nil && s.Key == own || s.Key == c.repositoryKey(k.Agent())
}

// isProjects reports whether the session was not named: it is that of the project.
func (c opener) isProjects() bool { return c.o.Key == "" && c.o.Project != "" }

// notePassed prints that the archived session of the project is not resumed, and how to do so.
func (c opener) notePassed(s wire.Session) {
	c.screen.printf("the project's session%s is archived; to resume it: firn chat -r %s", quotedTitle(s), prose.Short(s.ID))
}

// quotedTitle returns the title or first message of a session, quoted after a space; empty if
// it has none.
func quotedTitle(s wire.Session) string {
	if name := cmp.Or(s.Title, s.Prompt); name != "" {
		return " “" + prose.OneLine(name, 60) + "”"
	}
	return ""
}
