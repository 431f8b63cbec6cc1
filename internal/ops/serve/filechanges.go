package serve

import (
	"context"
	"encoding/hex"
	"path/filepath"

	"firn.dev"
	"firn.dev/internal/disk/filehistory"
	"firn.dev/internal/disk/sealfs"
	"firn.dev/internal/gateway/filerewind"
	"firn.dev/tool"
)

// filesDir is the directory in the home with the contents of files that tools changed.
const filesDir = "files"

// fileHistory returns the history of file changes in a home.
func fileHistory(home string) *filehistory.History {
	return filehistory.New(sealfs.Home(home), filepath.Join(home, filesDir))
}

// rewinder returns the rewinder of file changes; nil if nothing is stored on disk.
func (h *Instance) rewinder() *filerewind.Rewinder {
	if h.o.Ephemeral {
		return nil
	}
	return &filerewind.Rewinder{Store: h.store, History: fileHistory(h.home()), Disk: fileDisk{}, Git: gitFiles{h.o.Env}}
}

// changeRecorder records the file changes of one tool call.
type changeRecorder struct {
	history *filehistory.History
	session firn.ID
	answer  firn.EntryID
	call    firn.ToolCall
}

// recordChanges returns the recorder of a tool call.
func recordChanges(history *filehistory.History) func(firn.ID, firn.EntryID, firn.ToolCall) tool.ChangeRecorder {
	return func(session firn.ID, answer firn.EntryID, call firn.ToolCall) tool.ChangeRecorder {
		return changeRecorder{history, session, answer, call}
	}
}

// Before implements [tool.ChangeRecorder].
func (r changeRecorder) Before(_ context.Context, s tool.FileState) error {
	_, err := r.history.Before(r.session, r.change(s), s.Content)
	return err
}

// After implements [tool.ChangeRecorder].
func (r changeRecorder) After(_ context.Context, before, after tool.FileState) error {
	c, s := r.change(before), fileStateOf(after)
	c.After = &s
	return r.history.After(r.session, c, after.Content)
}

// Changed implements [tool.BatchRecorder].
func (r changeRecorder) Changed(_ context.Context, changes []tool.RecordedChange) error {
	all := make([]filehistory.Recorded, len(changes))
	for i, c := range changes {
		change, after := r.change(c.Before), fileStateOf(c.After)
		change.After = &after
		all[i] = filehistory.Recorded{Change: change, Old: c.Before.Content, New: c.After.Content}
	}
	return r.history.Record(r.session, all)
}

func (r changeRecorder) change(before tool.FileState) filehistory.Change {
	return filehistory.Change{Entry: r.answer, Call: r.call.ID, Tool: r.call.Name, Path: before.Path, Before: fileStateOf(before)}
}

func fileStateOf(s tool.FileState) filehistory.State {
	if !s.Exists {
		return filehistory.State{}
	}
	return filehistory.State{Exists: true, Hash: hex.EncodeToString(s.Hash[:]), Mode: s.Mode, Size: s.Size, Omitted: s.Content == nil && s.Size > 0}
}

// fileDisk implements [filerewind.Disk] with real files.
type fileDisk struct{}

// Read implements [filerewind.Disk].
func (fileDisk) Read(path string) (filehistory.State, []byte, error) {
	files, err := tool.OpenFileStates(path)
	if err != nil {
		return filehistory.State{}, nil, err
	}
	defer files.Close()
	s, err := files.Read(path)
	return fileStateOf(s), s.Content, err
}

// Restore implements [filerewind.Disk].
func (fileDisk) Restore(path string, s filehistory.State, content []byte) error {
	files, err := tool.OpenFileStates(path)
	if err != nil {
		return err
	}
	defer files.Close()
	return files.Restore(tool.FileState{Path: path, Exists: s.Exists, Mode: s.Mode, Size: s.Size, Content: content})
}
