package approve

import (
	"fmt"
	"path"
	"strings"
)

// fileTools are the tools whose argument "path" is a path in the workspace. For those with
// true it is always a file.
var fileTools = map[string]bool{
	"read_file": true, "write_file": true, "edit_file": true,
	"list_dir": false, "glob": false, "grep": false,
}

// OutsidePath returns the path outside of the workspace that a call of a file tool names,
// absolute and clean; empty if it names none. Symbolic links are not resolved: the tool
// refuses an approved path with one in it.
func OutsidePath(call Call) string {
	if _, ok := fileTools[call.Tool]; !ok || call.Workspace == "" {
		return ""
	}
	p := stringArgument(call.Arguments, "path")
	if p == "" || strings.ContainsRune(p, 0) {
		return ""
	}
	if _, inside := call.relative(p); inside {
		return ""
	}
	return absolute(call.Workspace, p)
}

// absolute returns a path as a clean one with slashes. A relative one starts from the
// workspace, unless that is empty.
func absolute(workspace, p string) string {
	p, workspace = slashes(workspace, p), slashes(workspace, workspace)
	if !rooted(p, workspace) {
		p = path.Join(workspace, p)
	}
	return path.Clean(p)
}

// slashes returns a path with slashes. A backslash in the path of a workspace that begins with
// a slash is part of a name, as it is for the tools there.
func slashes(workspace, p string) string {
	if strings.HasPrefix(workspace, "/") {
		return p
	}
	return strings.ReplaceAll(p, `\`, "/")
}

// rooted reports whether a path with slashes is absolute. It may begin with a drive if the
// workspace does.
func rooted(p, workspace string) bool {
	return strings.HasPrefix(p, "/") || drive(workspace) && drive(p)
}

// drive reports whether a path with slashes begins with a drive, such as C:/.
func drive(p string) bool {
	return len(p) > 2 && p[1] == ':' && p[2] == '/' && strings.Contains("abcdefghijklmnopqrstuvwxyz", strings.ToLower(p[:1]))
}

// allowsOutside reports whether the rule allows a path outside of the workspace: only if its
// pattern is an absolute path that matches.
func (r Rule) allowsOutside(workspace, p string) bool {
	return rooted(r.Pattern, slashes(workspace, workspace)) && globMatch(r.Pattern, p)
}

// decideOutside returns the verdict about a call that names a path outside of the workspace.
// A mode that does not ask refuses it, unless a rule names the path.
func decideOutside(mode Mode, allow []Rule, call Call, p string) (Verdict, string) {
	if mode == ReadOnly && EffectOf(call.Tool) != Read {
		return Refuse, readOnlyReason
	}
	for _, r := range allow {
		if r.allows(call) {
			return Allow, ""
		}
	}
	if mode == ReadOnly || mode == Everything {
		return Refuse, fmt.Sprintf("%s is outside the workspace %s, and the mode %s does not ask about it; a rule with its absolute path in the setting defaults.approvals.allow, or of firn approvals rules add, can allow it%s", p, call.Workspace, mode, example(call.Tool, p))
	}
	return NeedsYes, ""
}

// example returns the end of a sentence with the rule for a path outside of the workspace.
func example(tool, p string) string {
	r := ruleFor(tool, p)
	switch {
	case r.Tool == "":
		return ""
	case !fileTools[tool]:
		return fmt.Sprintf(", such as %s, which covers everything below it too", r)
	}
	return fmt.Sprintf(", such as %s", r)
}

// suggestOutside returns the rule that is offered for a path outside of the workspace: that
// file and no other. There is none for a tool that reads everything below a directory.
func suggestOutside(tool, p string) Rule {
	if !fileTools[tool] {
		return Rule{}
	}
	return ruleFor(tool, p)
}

// ruleFor returns the rule for a path outside of the workspace; the zero value if there is
// none that matches only this path.
func ruleFor(tool, p string) Rule {
	if strings.Contains(p, "*") {
		return Rule{} // it would match other names
	}
	if EffectOf(tool) == Edit {
		tool = editAlias
	}
	return valid(Rule{tool, p})
}
