package journal

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"firn.dev"
	"firn.dev/internal/disk/vfs"
)

// dirContent returns the content of the files of a directory, by name.
func dirContent(t *testing.T, dir string) map[string]string {
	t.Helper()
	entries, err := os.ReadDir(dir)
	must(t, err)
	files := make(map[string]string)
	for _, e := range entries {
		b, err := os.ReadFile(filepath.Join(dir, e.Name()))
		must(t, err)
		files[e.Name()] = string(b)
	}
	return files
}

// TestReplacedFile changes the files of an open journal as users and other programs do. The
// journal must notice at the next append, return an error, and lose no acknowledged bytes.
func TestReplacedFile(t *testing.T) {
	t.Parallel()
	old, more := numbered("old", 40), numbered("more", 3)
	rename := func(from, to string) func(string) error {
		return func(dir string) error { return os.Rename(filepath.Join(dir, from), filepath.Join(dir, to)) }
	}
	remove := func(names ...string) func(string) error {
		return func(dir string) error {
			for _, name := range names {
				if err := os.Remove(filepath.Join(dir, name)); err != nil {
					return err
				}
			}
			return nil
		}
	}
	replace := func(name, text string) func(string) error {
		return func(dir string) error {
			path := filepath.Join(dir, name)
			return errors.Join(os.WriteFile(path+".new", []byte(text), 0o600), os.Rename(path+".new", path))
		}
	}
	all := joined(old)
	first, second := joined(old[:20]), joined(old[20:])
	for name, c := range map[string]struct {
		parts int
		do    func(dir string) error
		// want are the files afterwards. Files that the reopened journal creates or appends
		// to are listed with their content before that.
		want map[string]string
	}{
		"deletes it":                       {1, remove("s.jsonl"), map[string]string{"s.jsonl.rescued-0": all}},
		"renames it":                       {1, rename("s.jsonl", "t.jsonl"), map[string]string{"t.jsonl": all}},
		"replaces it":                      {1, replace("s.jsonl", "{\"stub\":1}\n"), map[string]string{"s.jsonl": "{\"stub\":1}\n", "s.jsonl.rescued-0": all}},
		"replaces it by a longer one":      {1, replace("s.jsonl", all+all), map[string]string{"s.jsonl": all + all, "s.jsonl.rescued-0": all}},
		"replaces it by a copy":            {1, replace("s.jsonl", all), map[string]string{"s.jsonl": all, "s.jsonl.rescued-0": all}},
		"deletes the last part":            {2, remove("s_part2.jsonl"), map[string]string{"s.jsonl": first, "s_part2.jsonl.rescued-0": second}},
		"deletes the first part":           {2, remove("s.jsonl"), map[string]string{"s.jsonl.rescued-0": first, "s_part2.jsonl": second}},
		"deletes both parts":               {2, remove("s.jsonl", "s_part2.jsonl"), map[string]string{"s.jsonl.rescued-0": first, "s_part2.jsonl.rescued-0": second}},
		"renames the first part":           {2, rename("s.jsonl", "t.jsonl"), map[string]string{"t.jsonl": first, "s_part2.jsonl": second}},
		"replaces the first part":          {2, replace("s.jsonl", "{}\n"), map[string]string{"s.jsonl": "{}\n", "s.jsonl.rescued-0": first, "s_part2.jsonl": second}},
		"replaces the last part":           {2, replace("s_part2.jsonl", "{}\n"), map[string]string{"s.jsonl": first, "s_part2.jsonl": "{}\n", "s_part2.jsonl.rescued-0": second}},
		"moves the last part over another": {2, rename("s_part2.jsonl", "s.jsonl"), map[string]string{"s.jsonl": second, "s.jsonl.rescued-0": first}},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			dir := t.TempDir()
			path := filepath.Join(dir, "s.jsonl")
			opts := Options{PartSize: int64(len(all)) * 2}
			if c.parts == 2 {
				opts.PartSize = int64(len(second))
			}
			j := open(t, path, opts)
			for _, line := range old {
				add(t, j, line)
			}
			must(t, c.do(dir))
			refuses(t, j, firn.ErrReplaced)
			compareFiles(t, dir, c.want)
			must(t, j.Close())
			compareFiles(t, dir, c.want)

			again := open(t, path, opts)
			add(t, again, more...)
			got := collect(t, again.Source())
			if !slices.Equal(got[len(got)-len(more):], more) {
				t.Errorf("after reopening it ends in %q", got[max(0, len(got)-5):])
			}
		})
	}
}

// refuses checks that a journal rejects appends, twice, for the same reason.
func refuses(t *testing.T, j *Journal, kind error) {
	t.Helper()
	for _, deferred := range []bool{false, true} {
		_, err := j.Append(deferred, func(firn.Pos) ([]byte, error) {
			t.Error("it requested lines")
			return []byte("{}\n"), nil
		})
		if !errors.Is(err, kind) {
			t.Fatalf("append: %v", err)
		}
	}
}

func compareFiles(t *testing.T, dir string, want map[string]string) {
	t.Helper()
	got := dirContent(t, dir)
	for name, text := range want {
		if got[name] != text {
			t.Errorf("%s holds %d bytes, want %d: %.100q", name, len(got[name]), len(text), got[name])
		}
		delete(got, name)
	}
	for name, text := range got {
		t.Errorf("there is a file %s of %d bytes", name, len(text))
	}
}

// TestTruncatedFile truncates the file at many offsets. The removed bytes that the journal
// has in memory are saved.
func TestTruncatedFile(t *testing.T) {
	t.Parallel()
	lines := sample(30, 9)
	text := joined(lines)
	dir := t.TempDir()
	for cut := 0; cut < len(text); cut += 1 + len(text)/rounds(60) {
		path := filepath.Join(dir, "s.jsonl")
		j := open(t, path, Options{Sync: SyncNever})
		for i := 0; i < len(lines); i += 3 {
			add(t, j, lines[i:i+3]...)
		}
		must(t, os.Truncate(path, int64(cut)))
		refuses(t, j, firn.ErrReplaced)
		must(t, j.Close())
		saved := path + ".rescued-" + fmt.Sprint(cut)
		if got := dirContent(t, dir); got["s.jsonl"]+got[filepath.Base(saved)] != text || len(got) != 2 {
			t.Fatalf("cut at %d: the file and the saved bytes differ from the written ones, in %d files", cut, len(got))
		}
		again := open(t, path, Options{})
		add(t, again, newLine)
		must(t, again.Close())
		must(t, os.RemoveAll(dir))
		must(t, os.Mkdir(dir, 0o700))
	}
}

// TestTruncatedFileWithParts truncates more than the journal has in memory: the newest bytes are
// saved, and the name of the side file has their offset.
func TestTruncatedFileWithParts(t *testing.T) {
	t.Parallel()
	for _, size := range []int{10, 1000, tailSize - 2, tailSize, tailSize + 1, 3 * tailSize} {
		dir := t.TempDir()
		path := filepath.Join(dir, "s.jsonl")
		j := open(t, path, Options{Sync: SyncNever})
		var text string
		for i := range max(3, 100_000/size) {
			line := strings.Repeat(string(rune('a'+i%26)), size)
			add(t, j, line)
			text += line + "\n"
		}
		must(t, os.Truncate(path, 5))
		refuses(t, j, firn.ErrReplaced)
		must(t, j.Close())
		for name, saved := range dirContent(t, dir) {
			if name == "s.jsonl" {
				continue
			}
			from := len(text) - len(saved)
			if name != "s.jsonl.rescued-"+fmt.Sprint(from) || !strings.HasSuffix(text, saved) || len(saved) < min(size, tailSize) {
				t.Errorf("lines of %d: %d bytes are saved in %s", size, len(saved), name)
			}
		}
	}
}

// TestForeignAppends checks that lines appended by another program are accepted.
func TestForeignAppends(t *testing.T) {
	t.Parallel()
	path := filepath.Join(t.TempDir(), "s.jsonl")
	j := open(t, path, Options{})
	add(t, j, `{"a":1}`)
	file, err := vfs.OS{}.Open(path, vfs.Append)
	must(t, err)
	_, err = file.Write([]byte("{\"b\":1}\n{\"b\":2"))
	must(t, errors.Join(err, file.Close()))
	end, err := j.Append(false, func(end firn.Pos) ([]byte, error) {
		if end != 16 {
			t.Errorf("the end is %d", end)
		}
		return []byte("{\"a\":2}\n"), nil
	})
	if err != nil || end != 24 {
		t.Fatalf("append: %d, %v", end, err)
	}
	if got := collect(t, j.Source()); !slices.Equal(got, []string{`{"a":1}`, `{"b":1}`, `{"a":2}`}) {
		t.Errorf("there is %q", got)
	}
}
