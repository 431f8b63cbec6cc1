package cli

import (
	"fmt"
	"runtime"
	"runtime/debug"
	"strings"

	"github.com/spf13/cobra"
)

// The versions of the format that this program writes; see docs/format.md.
const (
	formatVersion = 3
	firnVersion   = 1
)

// Stamp is the version information that make passes to the linker; see tools/stamp.sh.
// Unknown fields are empty.
type Stamp struct {
	// Version is a tag, or Go's pseudo-version of an untagged commit.
	Version string
	// Commit is the full hash, and Time the commit time in RFC 3339.
	Commit, Time string
	// Dirty is "true" if the sources differ from the commit.
	Dirty string
}

// Build describes the version of a program.
type Build struct {
	Version string `json:"version"`
	// Commit is the commit it was built from and Time its commit time, if known. Dirty is
	// true if the sources had been changed.
	Commit string `json:"commit,omitempty"`
	Time   string `json:"time,omitempty"`
	Dirty  bool   `json:"dirty"`
	Go     string `json:"go"`
	OS     string `json:"os"`
	Arch   string `json:"arch"`
	// Modules is the number of linked third-party modules.
	Modules int `json:"modules"`
	// Format is the version of pi's session format, and Firn the version of firn's
	// additions.
	Format int `json:"format"`
	Firn   int `json:"firn"`
}

// BuildOf returns the build from the linker's stamp. Missing fields are taken from the
// build info, which may be nil.
func BuildOf(s Stamp, info *debug.BuildInfo) Build {
	b := Build{Version: "devel", Go: runtime.Version(), OS: runtime.GOOS, Arch: runtime.GOARCH, Format: formatVersion, Firn: firnVersion}
	if info != nil {
		b.read(info)
	}
	if s.Version != "" {
		b.Version = s.Version
	}
	if s.Commit != "" {
		b.Commit, b.Time, b.Dirty = s.Commit, s.Time, s.Dirty == "true"
	}
	return b
}

// read fills missing fields from the build info.
func (b *Build) read(info *debug.BuildInfo) {
	b.Modules = len(info.Deps)
	if info.Main.Version != "" && info.Main.Version != "(devel)" {
		b.Version = info.Main.Version
	}
	for _, s := range info.Settings {
		switch s.Key {
		case "vcs.revision":
			b.Commit = s.Value
		case "vcs.time":
			b.Time = s.Value
		case "vcs.modified":
			b.Dirty = s.Value == "true"
		}
	}
}

// text formats the version.
func (b Build) text() string {
	var t strings.Builder
	fmt.Fprintf(&t, "firn %s\n", b.Version)
	if b.Commit != "" {
		fmt.Fprintf(&t, "commit %s", b.Commit)
		if b.Time != "" {
			fmt.Fprintf(&t, " of %s", b.Time)
		}
		if b.Dirty {
			t.WriteString(", modified")
		}
		t.WriteByte('\n')
	}
	fmt.Fprintf(&t, "built with %s for %s/%s, %d modules\n", b.Go, b.OS, b.Arch, b.Modules)
	fmt.Fprintf(&t, "writes session format %d, additions %d\n", b.Format, b.Firn)
	return t.String()
}

func (p helpCommands) versionCommand() *cobra.Command {
	return &cobra.Command{
		Use:     "version",
		GroupID: "other",
		Short:   "Print the version and the session format",
		Long: `Print the version of firn, its commit and commit date, whether the sources
were modified, the Go version and platform, the number of modules, and the
version of the session format it writes.`,
		Example: "  firn version\n  firn version --json",
		Args:    none,
		RunE: func(*cobra.Command, []string) error {
			return p.print(p.build, p.build.text)
		},
	}
}
