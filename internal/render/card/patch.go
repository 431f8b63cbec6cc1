package card

import (
	"strings"

	"firn.dev/internal/base/linediff"
	"firn.dev/internal/render/richtext"
	"firn.dev/wire"
)

// Lines of the patches of Codex.
const (
	patchBegin  = "*** Begin Patch"
	patchEnd    = "*** End Patch"
	patchAdd    = "*** Add File: "
	patchUpdate = "*** Update File: "
	patchDelete = "*** Delete File: "
	patchMove   = "*** Move to: "
)

// patchDisplay shows a patch of Codex as a diff. It reports false for other texts.
func patchDisplay(patch string) (display, bool) {
	d := display{kind: wire.ToolEdit, render: richtext.Diff}
	var b strings.Builder
	var files []string
	inside := false
	for _, line := range linediff.Lines(patch) {
		line = strings.TrimRight(line, "\r\n")
		name, action := patchFile(line)
		switch {
		case strings.HasPrefix(line, patchEnd):
			inside = false
		case name != "":
			inside = true
			files = append(files, name)
			b.WriteString(richtext.DiffFile + name + action + "\n")
		case !inside:
		case strings.HasPrefix(line, patchMove):
			b.WriteString(richtext.DiffSkip + " moved to " + line[len(patchMove):] + "\n")
		case strings.HasPrefix(line, "***"):
		case strings.HasPrefix(line, "@@"):
			b.WriteString(richtext.DiffSkip + strings.TrimRight(line[2:], " @") + "\n")
		case strings.HasPrefix(line, richtext.DiffNew):
			d.added++
			b.WriteString(line + "\n")
		case strings.HasPrefix(line, richtext.DiffOld):
			d.removed++
			b.WriteString(line + "\n")
		default:
			b.WriteString(richtext.DiffSame + strings.TrimPrefix(line, " ") + "\n")
		}
	}
	d.text, d.preview = b.String(), strings.Join(files, ", ")
	return d, len(files) > 0
}

// patchFile returns the file that a line of a patch begins, and what happens to it.
func patchFile(line string) (name, action string) {
	for _, p := range [][2]string{{patchUpdate, ""}, {patchAdd, " (new)"}, {patchDelete, " (deleted)"}} {
		if rest, ok := strings.CutPrefix(line, p[0]); ok {
			return strings.TrimSpace(rest), p[1]
		}
	}
	return "", ""
}
