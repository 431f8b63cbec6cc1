// Package approve decides which tool calls of an agent may run without asking, which need
// the answer of a user, and which are refused. It is pure: the agent and the gateway ask
// and record.
//
// A [Mode] is the general policy. A [Rule] is an exception: a tool with a pattern of its
// commands, paths or hosts. [Decide] combines them. [Digest] identifies a call, so that an
// answer to one call cannot be used for another.
package approve

import (
	"encoding/json"
	"fmt"
	"slices"
	"strings"

	"firn.dev"
)

// Mode is the general policy for tool calls.
type Mode string

// The modes, from strict to permissive.
const (
	// ReadOnly refuses everything but reading. It is meant for planning.
	ReadOnly Mode = "read-only"
	// Ask asks before anything but reading.
	Ask Mode = "ask"
	// AcceptEdits also allows changes of files in the workspace.
	AcceptEdits Mode = "accept-edits"
	// Everything allows every call, except for files outside of the workspace, because it
	// asks about none.
	Everything Mode = "everything"
)

// Modes lists the modes, from strict to permissive.
var Modes = []Mode{ReadOnly, Ask, AcceptEdits, Everything}

// ParseMode returns the mode with a name.
func ParseMode(name string) (Mode, error) {
	if m := Mode(name); slices.Contains(Modes, m) {
		return m, nil
	}
	names := make([]string, len(Modes))
	for i, m := range Modes {
		names[i] = string(m)
	}
	return "", fmt.Errorf("%w approval mode %q: the modes are %s", firn.ErrInvalid, firn.CutText(name, 40), strings.Join(names, ", "))
}

// Strictest returns the strictest of the modes. Unknown modes are ignored; without any, it
// returns Everything.
func Strictest(modes ...Mode) Mode {
	least := len(Modes) - 1
	for _, m := range modes {
		if i := slices.Index(Modes, m); i >= 0 {
			least = min(least, i)
		}
	}
	return Modes[least]
}

// Effect is what a tool can do.
type Effect string

// The effects of tools.
const (
	// Read only reads, within the workspace and the sessions that the turn may see. A path
	// outside of the workspace needs its own approval, see [OutsidePath].
	Read Effect = "read"
	// Note changes the agent's own notes, or its commands in the background.
	Note Effect = "note"
	// Edit changes files of the workspace.
	Edit Effect = "edit"
	// Fetch sends a request to another machine.
	Fetch Effect = "fetch"
	// Run runs commands, or does something unknown.
	Run Effect = "run"
)

// effects are the effects of the built-in tools. A session that a turn delegates to has the
// mode of the turn, so delegating needs no approval of its own.
var effects = map[string]Effect{
	"now": Read, "calc": Read, "read_file": Read, "list_dir": Read, "glob": Read, "grep": Read, "recall": Read,
	"search_sessions": Read, "read_window": Read, "sessions_list": Read, "sessions_history": Read, "shell_output": Read,
	"sessions_send": Read, "sessions_spawn": Read,
	"remember": Note, "forget": Note, "shell_kill": Note,
	"write_file": Edit, "edit_file": Edit,
	"web_fetch": Fetch,
	"shell":     Run,
}

// EffectOf returns the effect of a tool. An unknown tool counts as Run.
func EffectOf(tool string) Effect {
	if e, ok := effects[tool]; ok {
		return e
	}
	return Run
}

// Call is a tool call to decide about.
type Call struct {
	Tool      string
	Arguments json.RawMessage
	// ReadOnly means that the tool only reads, as the user has confirmed. Deny rules still apply.
	ReadOnly bool
	// Workspace is the absolute path of the directory that tools work in; empty if unknown.
	Workspace string
	// Resolved is the same path without symbolic links; it may be empty if there are none.
	Resolved string
}

// Verdict is the decision about a call.
type Verdict string

// The verdicts.
const (
	Allow    Verdict = "allow"
	NeedsYes Verdict = "ask"
	Refuse   Verdict = "refuse"
)

// readOnlyReason is the reason of a refusal in the mode read-only.
const readOnlyReason = "the mode is read-only: only reading is allowed; describe the change instead"

// Rules are exceptions to a mode. Deny takes precedence over Allow.
type Rules struct{ Allow, Deny []Rule }

// Decide returns the verdict about a call, and the reason of a refusal.
func Decide(mode Mode, rules Rules, call Call) (Verdict, string) {
	for _, r := range rules.Deny {
		if r.denies(call) {
			return Refuse, fmt.Sprintf("the rule %s denies it", r)
		}
	}
	effect := EffectOf(call.Tool)
	if path := OutsidePath(call); path != "" {
		return decideOutside(mode, rules.Allow, call, path)
	}
	if effect == Read || call.ReadOnly || mode == Everything {
		return Allow, ""
	}
	if mode == ReadOnly {
		if effect == Fetch {
			return NeedsYes, ""
		}
		return Refuse, readOnlyReason
	}
	if effect == Note || effect == Edit && mode == AcceptEdits {
		return Allow, ""
	}
	for _, r := range rules.Allow {
		if r.allows(call) {
			return Allow, ""
		}
	}
	return NeedsYes, ""
}
