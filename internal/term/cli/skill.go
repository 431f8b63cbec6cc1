package cli

import (
	_ "embed"
	"io"
)

// skillText teaches an agent the command line, in the format of agent skills. agentsText is
// a short form of it, for the instruction file of a project.
var (
	//go:embed skill/SKILL.md
	skillText string
	//go:embed skill/AGENTS.md
	agentsText string
)

// printSkill prints the instructions for agents.
func (p helpCommands) printSkill(short bool) error {
	text := skillText
	if short {
		text = agentsText
	}
	_, err := io.WriteString(p.stdout, text)
	return err
}
