package config

import (
	"errors"
	"os"
	"path/filepath"
	"testing"

	"firn.dev"
)

// TestUnset checks that a setting that was set and is removed again leaves the file as it was.
func TestUnset(t *testing.T) {
	for name, before := range map[string]string{
		"empty":    "",
		"comments": "# mine\n\n[gateway]\ndrain = \"1m\" # long\n",
		"defaults": "[defaults]\nthinking = \"low\"\n\n[log]\nlevel = \"info\"\n",
		"projects": "[projects.\"/src/a\"]\nmodel = \"a/b\"\n",
	} {
		for _, path := range []string{"defaults.model", `projects."/src/my.thing".model`} {
			t.Run(name+" "+path, func(t *testing.T) {
				file := filepath.Join(t.TempDir(), FileName)
				if err := os.WriteFile(file, []byte(before), 0o600); err != nil {
					t.Fatal(err)
				}
				s, err := Open(file, []string{"FIRN_HOME=" + t.TempDir()}, nil)
				if err != nil {
					t.Fatal(err)
				}
				if s, err = s.Set(path, "anthropic/x"); err != nil {
					t.Fatal(err)
				}
				if s, err = s.Unset(path); err != nil {
					t.Fatal(err)
				}
				after, err := os.ReadFile(file)
				if err != nil || string(after) != before {
					t.Errorf("the file is %q, want %q (%v)", after, before, err)
				}
				if _, err := s.Unset(path); !errors.Is(err, firn.ErrNotFound) {
					t.Errorf("removed twice: %v", err)
				}
			})
		}
	}
}

// TestUnsetLeavesOtherSettings checks that a setting that is not on lines of its own is refused.
func TestUnsetLeavesOtherSettings(t *testing.T) {
	file := filepath.Join(t.TempDir(), FileName)
	text := "defaults = { model = \"a/b\", thinking = \"low\" }\n"
	if err := os.WriteFile(file, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
	s, err := Open(file, []string{"FIRN_HOME=" + t.TempDir()}, nil)
	if err != nil {
		t.Fatal(err)
	}
	if _, err := s.Unset("defaults.model"); !errors.Is(err, firn.ErrUnsupported) {
		t.Errorf("got %v", err)
	}
	if after, _ := os.ReadFile(file); string(after) != text {
		t.Errorf("the file is %q", after)
	}
}
