package doctor

import (
	"fmt"
	"path/filepath"
	"slices"
	"strings"

	"firn.dev"
	"firn.dev/internal/disk/sealfs"
)

// knownNames are the known directories and files of a home.
var knownNames = []string{"agents", "archive", "bin", "receipts", "commit", "index", sourcesDir, "gateway", "gateway.sock", "projects", "firn.toml", "store.json", "chat_history", ".moving.lock", "nats", "mirror.json", "approvals.json", "sync", filesDir, AcceptedName, "anchor.key", "sealed.json", ".redo", sealfs.DamagedDir, sealfs.SyncTargetDir}

// checkLayout looks for misplaced files and for sessions in more than one place.
func (h *homeExam) checkLayout() (string, error) {
	before := len(h.report.Findings)
	if err := h.checkRoot(); err != nil {
		return "", err
	}
	for _, agent := range h.agents {
		if err := h.checkAgent(agent); err != nil {
			return "", err
		}
	}
	if err := h.checkArchive(); err != nil {
		return "", err
	}
	h.checkTwice()
	if n := len(h.report.Findings) - before; n > 0 {
		return plural(n, "remark"), nil
	}
	return "ok", nil
}

// checkRoot checks the top directory of the home.
func (h *homeExam) checkRoot() error {
	names, err := h.list(h.home)
	for _, name := range names {
		if !slices.Contains(knownNames, name) && !h.leftover(h.path(name)) {
			h.stray(h.path(name))
		}
	}
	return err
}

// checkAgent checks the directories of one agent.
func (h *homeExam) checkAgent(agent string) error {
	names, err := h.list(h.path("agents", agent))
	if err != nil {
		return err
	}
	for _, name := range names {
		if name != "sessions" && name != "workspace" && name != "users" && !h.leftover(h.path("agents", agent, name)) {
			h.stray(h.path("agents", agent, name))
		}
	}
	names, err = h.list(h.path("agents", agent, "sessions"))
	for _, name := range names {
		h.checkName(h.path("agents", agent, "sessions", name))
	}
	return err
}

// checkName checks the name of a file among the transcripts.
func (h *homeExam) checkName(path string) {
	name := filepath.Base(path)
	base, ok := baseName(name)
	switch {
	case name == tableName || name == tableLockName || strings.HasPrefix(name, tableName+corruptMark): // reported elsewhere
	case h.leftover(path):
	case !ok:
		h.stray(path)
	case stemID(base).Check() != nil:
		h.add(Warn, Stray, path, "the file is not read: its name is not a valid session id", "rename it: letters, digits, dashes and underscores")
	case len(h.sessions[stemID(base)]) == 0:
		h.add(Info, Stray, path, "saved next to a transcript that no longer exists", "")
	}
}

func (h *homeExam) stray(path string) {
	h.add(Info, Stray, path, "not a file of firn; it is ignored", "")
}

// leftover adds a finding for a temporary file of a process that died before renaming it,
// and reports whether path is one. Its content was never acknowledged.
func (h *homeExam) leftover(path string) bool {
	name := filepath.Base(path)
	if name[0] != '.' || !strings.Contains(name, ".tmp-") {
		return false
	}
	h.add(Info, Leftover, path, "a temporary file of a crashed process, or of one about to replace a file", "delete it if no firn is running")
	return true
}

// checkArchive looks for archive marks of missing sessions.
func (h *homeExam) checkArchive() error {
	names, err := h.list(h.path("archive"))
	for _, name := range names {
		if !h.leftover(h.path("archive", name)) && len(h.sessions[firn.ID(name)]) == 0 {
			h.add(Info, Stray, h.path("archive", name), "an archive marker of a session that does not exist", "")
		}
	}
	return err
}

// checkTwice looks for sessions in more than one place.
func (h *homeExam) checkTwice() {
	var ids []firn.ID
	for id, places := range h.sessions {
		if len(places) > 1 {
			ids = append(ids, id)
		}
	}
	slices.Sort(ids)
	for _, id := range ids {
		places := h.sessions[id]
		if slices.ContainsFunc(places, func(t transcript) bool { return t.binned }) {
			continue // reported with the trash bin
		}
		var agents []string
		for _, t := range places {
			agents = append(agents, t.agent)
		}
		h.report.add(Finding{
			Severity: Fault, Kind: Twice, Session: id, File: relative(h.home, places[1].base),
			Message: fmt.Sprintf("the session exists for several agents (%s); only the first is read", strings.Join(agents, ", ")),
			Hint:    "move all but one of the files out of the home",
		})
	}
}
