package main

import (
	"context"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"time"

	"firn.dev"
	"firn.dev/internal/base/approve"
	"firn.dev/internal/disk/filehistory"
	"firn.dev/internal/disk/vfs"
	"firn.dev/internal/gateway/filerewind"
	"firn.dev/internal/ops/config"
	"firn.dev/internal/ops/serve"
	"firn.dev/store/filestore"
	"firn.dev/tool"
	"firn.dev/wire"
)

// files measures recording the change of a file and rewinding many.
func (b *bench) files() error {
	small, err := b.edit("edit-small", 1)
	if err != nil {
		return err
	}
	large, err := b.edit("edit-large", 50_000)
	if err != nil {
		return err
	}
	b.note("write a file of 20 kB with its checkpoint, in a tree of 1 file", ms(small))
	b.want("write a file of 20 kB with its checkpoint, in a tree of 50,000 files", ms(large), "≤ 20 ms", large <= 20*time.Millisecond)
	took, err := b.rewindFiles(500)
	if err != nil {
		return err
	}
	b.want("rewind 500 files of 2 kB", ms(took), "≤ 2,000 ms", took <= 2*time.Second)
	return nil
}

// edit returns the time to write a file with its checkpoint in a tree of n files.
func (b *bench) edit(name string, n int) (time.Duration, error) {
	dir, fresh := b.home(name)
	work := filepath.Join(dir, "work")
	for i := 0; fresh && i < n; i++ {
		sub := filepath.Join(work, fmt.Sprint(i/500))
		if err := errors.Join(os.MkdirAll(sub, 0o700), os.WriteFile(filepath.Join(sub, fmt.Sprint(i)), []byte("x\n"), 0o600)); err != nil {
			return 0, err
		}
	}
	settings, err := config.Open("", nil, map[string]string{"home": filepath.Join(dir, "home")})
	if err != nil {
		return 0, err
	}
	t, err := serve.OpenTerminal(serve.Options{Settings: settings, Env: os.Getenv, Local: &serve.Local{Workspace: work, Write: true}}, "main")
	if err != nil {
		return 0, err
	}
	defer t.Close()
	i := 0
	return median(30, func() error {
		i++
		content := make([]byte, 20<<10)
		for at := range content {
			content[at] = "some lines of text\n"[at%19]
		}
		copy(content, fmt.Sprintf("%20d\n", time.Now().UnixNano()))
		arguments, err := json.Marshal(map[string]string{"path": "0/0", "content": string(content)})
		if err != nil {
			return err
		}
		call := wire.ClientCall{Call: fmt.Sprint("call", i), Entry: "entry", Name: "write_file", Arguments: arguments, Digest: approve.Digest("write_file", arguments)}
		r := t.Run(context.Background(), "bench", call, func(string) {})
		if r.Error != "" || len(r.Files) != 1 {
			return fmt.Errorf("write a file: %q, %v", r.Error, r.Files)
		}
		return nil
	})
}

// rewindFiles returns the time to give n files the content that they had before a turn.
func (b *bench) rewindFiles(n int) (time.Duration, error) {
	dir, err := os.MkdirTemp(b.dir, "rewind")
	if err != nil {
		return 0, err
	}
	ctx := context.Background()
	st, err := filestore.Open(filepath.Join(dir, "home"), filestore.Options{Sync: filestore.SyncNever})
	if err != nil {
		return 0, err
	}
	defer st.Close()
	const id firn.ID = "rewound"
	user := firn.NewEntry(&firn.Message{Role: firn.RoleUser, Parts: []firn.Part{firn.Text{Text: "change them"}}, Time: time.Now()})
	answer := firn.NewEntry(&firn.Message{Role: firn.RoleAssistant, Parts: []firn.Part{firn.Text{Text: "done"}}, Time: time.Now()})
	answer.Parent = user.ID
	if _, err := st.Append(ctx, id, 0, firn.Entry{Body: &firn.Header{Session: id, Agent: "main"}}, user, answer); err != nil {
		return 0, err
	}
	history := filehistory.New(vfs.OS{}, filepath.Join(dir, "home", "files"))
	var changes []filehistory.Recorded
	for i := range n {
		path := filepath.Join(dir, fmt.Sprint("file", i))
		before, after := fmt.Appendf(nil, "before %d %01990d\n", i, i), fmt.Appendf(nil, "after %d %01990d\n", i, i)
		if err := os.WriteFile(path, after, 0o600); err != nil {
			return 0, err
		}
		state := filehistory.StateOf(after, 0o600)
		changes = append(changes, filehistory.Recorded{Old: before, New: after, Change: filehistory.Change{Entry: answer.ID, Call: "call", Tool: "shell", Path: path, Before: filehistory.StateOf(before, 0o600), After: &state}})
	}
	if err := history.Record(id, changes); err != nil {
		return 0, err
	}
	r := &filerewind.Rewinder{Store: st, History: history, Disk: benchDisk{}}
	begun := time.Now()
	out, err := r.Rewind(ctx, id, answer.ID, user.ID, wire.FileRewind{})
	took := time.Since(begun)
	if err != nil {
		return 0, err
	}
	for _, s := range out.Steps {
		if !s.Done {
			return 0, fmt.Errorf("%s was not restored: %s", s.Path, s.Problem)
		}
	}
	if len(out.Steps) != n {
		return 0, fmt.Errorf("%d files were restored", len(out.Steps))
	}
	return took, nil
}

// benchDisk reads and restores files as the gateway does.
type benchDisk struct{}

// Read implements [filerewind.Disk].
func (benchDisk) Read(path string) (filehistory.State, []byte, error) {
	files, err := tool.OpenFileStates(path)
	if err != nil {
		return filehistory.State{}, nil, err
	}
	defer files.Close()
	s, err := files.Read(path)
	if err != nil || !s.Exists {
		return filehistory.State{}, nil, err
	}
	return filehistory.State{Exists: true, Hash: hex.EncodeToString(s.Hash[:]), Mode: s.Mode, Size: s.Size}, s.Content, nil
}

// Restore implements [filerewind.Disk].
func (benchDisk) Restore(path string, s filehistory.State, content []byte) error {
	files, err := tool.OpenFileStates(path)
	if err != nil {
		return err
	}
	defer files.Close()
	return files.Restore(tool.FileState{Path: path, Exists: s.Exists, Mode: s.Mode, Size: s.Size, Content: content})
}
