package chat

import (
	"cmp"
	"context"
	"errors"
	"os"

	"firn.dev"
	"firn.dev/internal/base/route"
	"firn.dev/internal/render/prose"
	"firn.dev/wire"
)

// sharedProject connects the sessions of a project on several machines, whose directories
// differ: the key of its git repository points at the session in which the latest message was
// sent. A sync brings it to the other machines.
type sharedProject struct {
	// from is the directory on the other machine, if the session was found by the key of the
	// repository. The key of this project does not point at it before a message is sent.
	from string
	// pointed is the session that the keys are known to point at.
	pointed firn.ID
}

// origin describes where the session comes from.
func (s sharedProject) origin() string {
	if s.from == "" {
		return ""
	}
	return " the session of this repository, which was started in " + prose.Clean(s.from)
}

// repositoryKey returns the key of the agent's session about the repository; empty if there
// is none.
func (c opener) repositoryKey(agentName string) string {
	k, err := route.RepositoryKey(agentName, c.o.Repository)
	if err != nil {
		return ""
	}
	return k.String()
}

// fromElsewhere chooses the session of the repository if it was started on another machine.
func (c opener) fromElsewhere(ctx context.Context) (bool, error) {
	if c.o.New {
		return false, nil
	}
	s, found, err := c.sessionElsewhere(ctx)
	if !found || err != nil {
		return false, err
	}
	if s.Archived {
		c.notePassed(s)
		return false, nil
	}
	c.id, c.name = s.ID, cmp.Or(s.Agent, "main")
	c.isVerbose = s.State != nil && s.State.Verbose == "on"
	c.shared.from = s.CWD
	return true, nil
}

// sessionElsewhere returns the session of the repository if it was started in a directory that
// is not on this machine, unless it was removed. Another clone on this machine has a session of
// its own.
func (c opener) sessionElsewhere(ctx context.Context) (s wire.Session, found bool, err error) {
	key := c.repositoryKey(cmp.Or(c.o.Agent, "main"))
	if key == "" {
		return s, false, nil
	}
	s, err = c.client.Session(ctx, "@"+key)
	if errors.Is(err, firn.ErrNotFound) {
		return s, false, nil
	}
	if err != nil || s.Hidden || s.CWD == "" || isDirectory(s.CWD) {
		return s, false, err
	}
	return s, true, nil
}

func isDirectory(name string) bool {
	info, err := os.Stat(name)
	return err == nil && info.IsDir()
}

// share points the keys of the project and of its repository at the session, before a message
// is sent in it. Sessions that were named otherwise, and those without the project's key,
// are not shared. A failure is printed and does not keep the message from being sent.
func (c opener) share(ctx context.Context) error {
	if repository := c.repositoryKey(c.name); repository != "" && !c.o.Own && c.id != c.shared.pointed {
		c.shared.pointed = c.id
		if err := c.pointKeys(ctx, repository); err != nil && ctx.Err() == nil {
			c.screen.printf("other machines do not find this session by its repository: %s", prose.OneLine(err.Error(), 200))
		}
	}
	return ctx.Err()
}

// pointKeys points the keys of the project and of its repository at the session.
func (c opener) pointKeys(ctx context.Context, repository string) error {
	own, err := c.projectKey(c.name)
	if err != nil || c.key != own {
		return err
	}
	for _, key := range []string{own, repository} {
		s, err := c.client.Keys.Get(ctx, key)
		if err != nil && !errors.Is(err, firn.ErrNotFound) {
			return err
		}
		if err == nil && s.Session == c.id {
			continue
		}
		if key == own && c.shared.from == "" {
			return nil // the key was pointed elsewhere meanwhile
		}
		if _, err := c.client.Keys.Point(ctx, key, c.id); err != nil {
			return err
		}
	}
	return nil
}
