package cli

import (
	"fmt"
	"runtime"
	"runtime/debug"

	"github.com/spf13/cobra"
)

// The versions of the format that this program writes; see docs/format.md.
const (
	formatVersion = 3
	firnVersion   = 1
)

// version is what a program says of itself.
type version struct {
	Version string `json:"version"`
	// Revision is the commit it was built from, if it is known.
	Revision string `json:"revision,omitempty"`
	Modified bool   `json:"modified,omitempty"`
	Go       string `json:"go"`
	Platform string `json:"platform"`
	// Format is the version of pi's session format, Firn that of our additions.
	Format int `json:"format"`
	Firn   int `json:"firn"`
}

func (p *program) versionCommand() *cobra.Command {
	return &cobra.Command{
		Use:     "version",
		GroupID: "other",
		Short:   "Say which firn this is, and which format it writes",
		Args:    none,
		RunE: func(*cobra.Command, []string) error {
			info, _ := debug.ReadBuildInfo()
			v := versionOf(info)
			return p.print(v, v.text)
		},
	}
}

// versionOf reads the version from what the Go command wrote into the program.
func versionOf(info *debug.BuildInfo) version {
	v := version{Version: "devel", Go: runtime.Version(), Platform: runtime.GOOS + "/" + runtime.GOARCH, Format: formatVersion, Firn: firnVersion}
	if info == nil {
		return v
	}
	if info.Main.Version != "" && info.Main.Version != "(devel)" {
		v.Version = info.Main.Version
	}
	for _, s := range info.Settings {
		switch s.Key {
		case "vcs.revision":
			v.Revision = s.Value
		case "vcs.modified":
			v.Modified = s.Value == "true"
		}
	}
	return v
}

func (v version) text() string {
	s := "firn " + v.Version
	if len(v.Revision) > 12 {
		s += " (" + v.Revision[:12]
		if v.Modified {
			s += ", modified"
		}
		s += ")"
	}
	return fmt.Sprintf("%s\n%s %s\nwrites session format %d with additions %d\n", s, v.Go, v.Platform, v.Format, v.Firn)
}
