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
	if _, inside := relative(call.Workspace, p); inside {
		return ""
	}
	p, workspace := strings.ReplaceAll(p, `\`, "/"), strings.ReplaceAll(call.Workspace, `\`, "/")
	if !rooted(p, workspace) {
		p = path.Join(workspace, p)
	}
	return path.Clean(p)
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
	return rooted(r.Pattern, strings.ReplaceAll(workspace, `\`, "/")) && globMatch(r.Pattern, p)
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
		return Refuse, fmt.Sprintf("%s is outside the workspace %s, and the mode %s does not ask about it; the setting approvals.allow can allow it, such as %s", p, call.Workspace, mode, suggestOutside(call.Tool, p))
	}
	return NeedsYes, ""
}

// suggestOutside returns the rule that is offered for a path outside of the workspace: the
// files of that directory, or that path, but nothing below.
func suggestOutside(tool, p string) Rule {
	if strings.Contains(p, "*") {
		return Rule{} // it would match other names
	}
	if dir := path.Dir(p); fileTools[tool] && dir != "/" {
		p = dir + "/*"
	}
	if EffectOf(tool) == Edit {
		tool = editAlias
	}
	return valid(Rule{tool, p})
}
