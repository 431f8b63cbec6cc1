package doctor

import (
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"path/filepath"
	"strings"

	"firn.dev"
	"firn.dev/store"
)

// manifestName is the file that describes a trash bin directory.
const manifestName = "manifest.json"

// manifest is the relevant part of its content.
type manifest struct {
	Session firn.ID  `json:"session"`
	Agent   string   `json:"agent"`
	Files   []string `json:"files"`
}

// checkBin checks that every removed session can be restored.
func (h *homeExam) checkBin() (string, error) {
	names, err := h.list(h.path("bin"))
	if err != nil {
		return "", err
	}
	removed := 0
	for _, name := range names {
		if h.leftover(h.path("bin", name)) {
			continue
		}
		removed++
		if err := h.checkRemoved(name); err != nil {
			return "", err
		}
	}
	if removed == 0 {
		return "empty", nil
	}
	return plural(removed, "session"), nil
}

// checkRemoved checks one removed session.
func (h *homeExam) checkRemoved(name string) error {
	dir := h.path("bin", name)
	data, err := h.read(filepath.Join(dir, manifestName))
	if errors.Is(err, fs.ErrNotExist) {
		h.bin(Fault, name, "a removed session without a manifest: it cannot be restored automatically", "move its files back to agents/<agent>/sessions by hand")
		return nil
	}
	if err != nil {
		return fmt.Errorf("check the trash bin: %w", err)
	}
	var m manifest
	if err := json.Unmarshal(data, &m); err != nil || string(m.Session) != name || m.Agent == "" || len(m.Files) == 0 {
		h.bin(Fault, name, "the manifest of a removed session does not list its files", "move its files back to agents/<agent>/sessions by hand")
		return nil
	}
	h.checkManifest(dir, m)
	return nil
}

// checkManifest checks that the files named in a manifest exist.
func (h *homeExam) checkManifest(dir string, m manifest) {
	id := string(m.Session)
	inBin, inPlace := 0, 0
	for _, file := range m.Files {
		removed := h.exists(filepath.Join(dir, filepath.Base(file)))
		there := h.exists(h.path("agents", m.Agent, "sessions", filepath.Base(file)))
		switch {
		case removed && there:
			h.bin(Warn, id, fmt.Sprintf("%s is both in the trash bin and in its original place, so it cannot be restored", file), "move one of the two out of the home")
		case removed:
			inBin++
		case there:
			inPlace++
		default:
			h.bin(Fault, id, fmt.Sprintf("%s is listed in the manifest but does not exist", file), "restore the file from a copy if there is one")
		}
	}
	switch {
	case inPlace > 0 && inBin > 0:
		h.bin(Warn, id, "moving the session to or from the trash bin was interrupted: some files are here and some in their original place", "remove or restore the session again to finish it")
	case inPlace > 0:
		h.bin(Warn, id, "moving the session to or from the trash bin was interrupted: all files are in their original place", "remove or restore the session again to finish it")
	}
}

func (h *homeExam) bin(severity Severity, id, message, hint string) {
	h.report.add(Finding{Severity: severity, Kind: Bin, Session: firn.ID(id), File: "bin/" + id, Message: message, Hint: hint})
}

// checkReceipts looks for unfinished purges.
func (h *homeExam) checkReceipts() (string, error) {
	names, err := h.list(h.path("receipts"))
	if err != nil {
		return "", err
	}
	done := 0
	for _, name := range names {
		path := h.path("receipts", name)
		if h.leftover(path) {
			continue
		}
		if !strings.HasSuffix(name, ".json") {
			h.stray(path)
			continue
		}
		ok, err := h.checkReceipt(path)
		if err != nil {
			return "", err
		}
		if ok {
			done++
		}
	}
	if done == 0 {
		return "none", nil
	}
	return plural(done, "receipt"), nil
}

// checkReceipt checks one receipt and reports whether its purge is finished.
func (h *homeExam) checkReceipt(path string) (bool, error) {
	data, err := h.read(path)
	if errors.Is(err, fs.ErrNotExist) {
		return false, nil
	}
	if err != nil {
		return false, fmt.Errorf("check receipt %s: %w", path, err)
	}
	var r store.Receipt
	if err := json.Unmarshal(data, &r); err != nil || r.Session == "" {
		h.add(Fault, Receipt, path, "the receipt of a purge cannot be read", "")
		return false, nil
	}
	if !r.Done.IsZero() {
		return true, nil
	}
	what := "of the session"
	if n := len(r.Entries); n > 0 {
		what = "of " + plural(n, "entry")
	}
	h.report.add(Finding{
		Severity: Warn, Kind: Receipt, Session: r.Session, File: relative(h.home, path),
		Message: "a purge " + what + " was interrupted: some of the data may still exist", Hint: "run the same purge again to finish it",
	})
	return false, nil
}
