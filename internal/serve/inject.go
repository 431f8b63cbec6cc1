package serve

import (
	"cmp"
	"context"
	"path/filepath"
	"strings"

	"firn/agent"
	"firn/internal/config"
	"firn/internal/instructions"
	"firn/window"
)

// maxInstructions bounds how much of instruction files is read in all, in
// bytes.
const maxInstructions = 40 << 10

// inject returns the hook that gives a model its context in every turn: the notes
// of its memory, the working directory, the date, and the instruction files.
func (s *staff) inject(c config.Agent, workspace string, notes *notebook) func(context.Context, agent.Run) ([]window.Injection, error) {
	return func(ctx context.Context, run agent.Run) ([]window.Injection, error) {
		var injected []window.Injection
		if notes != nil {
			injected = notes.recalled(ctx, run)
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

// instructionText is a file as the model is sent it: with its path.
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

// instructions reads the instruction files of a workspace and of its parents up to
// the project's root. Each file that was not read is reported once.
func (s *staff) instructions(c config.Instructions, workspace string) []instructions.File {
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

// plainNames leaves out what is not the name of a file in a directory.
func plainNames(names []string) []string {
	var plain []string
	for _, n := range names {
		if n != "" && n == filepath.Base(n) && filepath.IsLocal(n) && n != "." {
			plain = append(plain, n)
		}
	}
	return plain
}

// userHome is the user's home directory, empty if the environment does not say.
func (s *staff) userHome() string {
	if s.env == nil {
		return ""
	}
	return cmp.Or(s.env("HOME"), s.env("USERPROFILE"))
}

// mostReported bounds how many messages are remembered as reported.
const mostReported = 256

// reportOnce reports a message that every turn would repeat.
func (s *staff) reportOnce(message string) {
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
