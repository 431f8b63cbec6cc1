package serve

import (
	"cmp"
	"context"
	"path/filepath"
	"slices"
	"strings"

	"firn.dev/agent"
	"firn.dev/internal/ops/config"
	"firn.dev/internal/ops/instructions"
	"firn.dev/tool"
	"firn.dev/window"
)

// maxInstructions limits the total size of instruction files in bytes.
const maxInstructions = 40 << 10

// inject returns the hook that adds context to every turn: recalled notes, agents available
// for delegation, the working directory, the date, and the instruction files.
func (s *agentBuilder) inject(a *agent.Agent, c config.Agent, workspace string, notes *notebook) func(context.Context, agent.Run) ([]window.Injection, error) {
	return func(ctx context.Context, run agent.Run) ([]window.Injection, error) {
		var injected []window.Injection
		if notes != nil {
			injected = notes.recallFor(ctx, run)
		}
		injected = append(injected, agent.Peers(s.peers(ctx, a, run))...)
		if run.Workplace != nil {
			return injected, nil // the turn acts elsewhere
		}
		injected = append(injected, agent.Environment(workspace, s.clock()))
		var texts, sources []string
		for _, f := range s.instructions(c.Instructions, workspace) {
			if text := instructionText(f); text != "" {
				texts, sources = append(texts, text), append(sources, f.Path)
			}
		}
		for _, in := range agent.Instructions(texts) {
			in.Sources = sources
			injected = append(injected, in)
		}
		return injected, nil
	}
}

// instructionText formats an instruction file for the model, with its path.
func instructionText(f instructions.File) string {
	if f.Text == "" {
		return ""
	}
	from := "Contents of " + strings.Join(strings.Fields(f.Path), " ")
	if f.By != "" {
		from += ", included by " + strings.Join(strings.Fields(f.By), " ")
	}
	return from + ":\n\n" + f.Text
}

// instructions reads the instruction files of a workspace and of its parents up to the
// project root. Each skipped file is reported once.
func (s *agentBuilder) instructions(c config.Instructions, workspace string) []instructions.File {
	if workspace == "" || len(c.Files) == 0 {
		return nil
	}
	read := instructions.Read(workspace, instructions.Options{
		Names: plainNames(c.Files), Outside: c.Outside, Bytes: maxInstructions, Home: s.userHome(),
	})
	for _, skipped := range read.Skipped {
		s.reportOnce(skipped.String())
	}
	return read.Files
}

// plainNames filters out names that contain a path.
func plainNames(names []string) []string {
	var plain []string
	for _, n := range names {
		if n != "" && n == filepath.Base(n) && filepath.IsLocal(n) && n != "." {
			plain = append(plain, n)
		}
	}
	return plain
}

// userHome returns the user's home directory, or "" if it is not in the environment.
func (s *agentBuilder) userHome() string {
	if s.env == nil {
		return ""
	}
	return cmp.Or(s.env("HOME"), s.env("USERPROFILE"))
}

// mostReported limits the number of messages remembered by reportOnce.
const mostReported = 256

// reportOnce reports a message unless it was reported before. It is for messages that every
// turn would repeat.
func (s *agentBuilder) reportOnce(message string) {
	s.mu.Lock()
	known := s.reported[message]
	if !known {
		if s.reported == nil || len(s.reported) >= mostReported {
			s.reported = make(map[string]bool)
		}
		s.reported[message] = true
	}
	s.mu.Unlock()
	if !known {
		s.report(message)
	}
}

// peers returns the agents that a turn can delegate to, within the bounds of the caller. It
// returns none if the agent lacks the tool.
func (s *agentBuilder) peers(ctx context.Context, a *agent.Agent, run agent.Run) []agent.Peer {
	if !slices.ContainsFunc(a.Tools, func(t tool.Tool) bool { return t.Spec().Name == "sessions_spawn" }) {
		return nil
	}
	bounds := run.Bounds
	if s.notes != nil {
		bounds = bounds.In(s.notes.header(ctx, run.Session).Key)
	}
	return slices.DeleteFunc(peersOf(s.settings, a.Name), func(p agent.Peer) bool { return !bounds.AdmitsAgent(p.Name) })
}
