package tool

import (
	"bytes"
	"errors"
	"io"
	"io/fs"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"firn"
)

// Note is something that was noted.
type Note struct {
	// Source is the file in the workspace, with slashes; Line the line in it,
	// from 1.
	Source string
	Line   int
	Text   string
	// Time is the day of the file, zero if it is not one of a day.
	Time time.Time
}

// How much is read of notes at most: of one file, of all, and how many files.
const (
	maxNotesFile  = 1 << 20
	maxNotesBytes = 16 << 20
	maxNotesFiles = 1000
)

// Notes reads the notes of a workspace: the lines of MEMORY.md, then those of
// the files in memory, the newest day first, without headings and marks. There
// are none if there are no such files. Of very many notes the newest are read.
func Notes(w *Workspace) ([]Note, error) {
	names, err := w.noteFiles()
	if err != nil {
		return nil, err
	}
	var notes []Note
	room := maxNotesBytes
	for _, name := range names {
		data, err := w.readNotes(name)
		if errors.Is(err, firn.ErrNotFound) {
			continue // taken away since
		}
		if err != nil {
			return nil, err
		}
		if room -= len(data); room < 0 {
			break
		}
		notes = append(notes, parseNotes(filepath.ToSlash(name), data)...)
	}
	return notes, nil
}

// noteFiles lists the files of notes that there are.
func (w *Workspace) noteFiles() ([]string, error) {
	var names []string
	if info, err := w.root.Stat(memoryFile); err == nil && info.Mode().IsRegular() {
		names = append(names, memoryFile)
	}
	entries, _, err := w.readDir(memoryDir)
	if errors.Is(err, fs.ErrNotExist) {
		return names, nil
	}
	if err != nil {
		return nil, w.explain("list", memoryDir, err)
	}
	for _, entry := range slices.Backward(entries) {
		if entry.Type().IsRegular() && strings.EqualFold(filepath.Ext(entry.Name()), ".md") && len(names) < maxNotesFiles {
			names = append(names, filepath.Join(memoryDir, entry.Name()))
		}
	}
	return names, nil
}

// readNotes reads a file of notes, the beginning of it if it is very long.
func (w *Workspace) readNotes(name string) ([]byte, error) {
	f, _, err := w.open(name)
	if err != nil {
		return nil, err
	}
	defer f.Close()
	data, err := io.ReadAll(io.LimitReader(f, maxNotesFile))
	if err != nil {
		return nil, w.explain("read", name, err)
	}
	return data, nil
}

// parseNotes makes notes of the lines of a file.
func parseNotes(source string, data []byte) []Note {
	var notes []Note
	day, _ := time.ParseInLocation(dayFormat+".md", source[strings.LastIndexByte(source, '/')+1:], time.Local)
	number := 0
	for line := range bytes.Lines(data) {
		number++
		text, _ := firn.CleanText(string(line))
		if strings.HasPrefix(strings.TrimSpace(text), "#") {
			continue
		}
		if text = noteText(text); text != "" {
			notes = append(notes, Note{Source: source, Line: number, Text: text, Time: day})
		}
	}
	return notes
}
