package serve

import (
	"context"
	"errors"
	"io/fs"
	"path/filepath"

	"firn/agent"
	"firn/window"
)

// instructionFiles are read from the workspace, in this order.
var instructionFiles = []string{"AGENTS.md", "FIRN.md"}

// maxInstructions bounds how much of instruction files is read in all, in
// bytes.
const maxInstructions = 40 << 10

// inject tells a model what it shall know in every turn: what memory has to say,
// where it works, what day it is, and what the instruction files say.
func (s *staff) inject(workspace string, notes *notebook) func(context.Context, agent.Run) ([]window.Injection, error) {
	return func(ctx context.Context, run agent.Run) ([]window.Injection, error) {
		var injected []window.Injection
		if notes != nil {
			injected = notes.recalled(ctx, run)
		}
		injected = append(injected, agent.Environment(workspace, s.clock()))
		return append(injected, agent.Instructions(s.instructions(workspace))...), nil
	}
}

// instructions reads the instruction files that are there. One that cannot be
// read is told of and left out.
func (s *staff) instructions(workspace string) []string {
	if workspace == "" {
		return nil
	}
	var texts []string
	left := int64(maxInstructions)
	for _, name := range instructionFiles {
		text, err := readBounded(s.fs, filepath.Join(workspace, name), left)
		if errors.Is(err, fs.ErrNotExist) {
			continue
		}
		if err != nil {
			s.report("instructions were not read: " + err.Error())
			continue
		}
		left -= int64(len(text))
		texts = append(texts, text)
	}
	return texts
}
