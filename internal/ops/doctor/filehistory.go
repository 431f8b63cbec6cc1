package doctor

import (
	"maps"
	"slices"

	"firn.dev/internal/disk/filehistory"
	"firn.dev/internal/disk/sealfs"
	"firn.dev/internal/render/prose"
)

// filesDir is the directory with the contents of files that tools changed.
const filesDir = "files"

// checkFileHistory checks the contents of files that tools changed.
func (h *homeExam) checkFileHistory() (string, error) {
	e, err := filehistory.New(sealfs.Home(h.home), h.path(filesDir)).Examine()
	if err != nil {
		return "", err
	}
	for _, id := range slices.Sorted(maps.Keys(e.Missing)) {
		h.report.add(Finding{
			Severity: Warn, Kind: Files, Session: id, File: filesDir,
			Message: plural(e.Missing[id], "content") + " of changed files " + isAre(e.Missing[id]) + " missing: a rewind cannot restore them",
			Hint:    "restore the directory files of the home from a backup, if there is one",
		})
	}
	if e.Unused > 0 {
		h.report.add(Finding{Severity: Info, Kind: Files, File: filesDir, Message: prose.Size(e.Unused) + " of contents belong to no session", Hint: "nothing needs to be done"})
	}
	if e.Sessions == 0 {
		return "none", nil
	}
	return plural(e.Sessions, "session") + ", " + prose.Size(e.Bytes), nil
}

func isAre(n int) string {
	if n == 1 {
		return "is"
	}
	return "are"
}
