package main

import (
	"runtime/debug"

	"firn.dev/internal/term/cli"
)

// Build information that make passes to the linker (tools/stamp.sh). After a plain go build
// they are empty, and the information recorded by the Go command is used.
var version, commit, committed, dirty string

// build returns the build information of this program.
func build() cli.Build {
	info, _ := debug.ReadBuildInfo()
	return cli.BuildOf(cli.Stamp{Version: version, Commit: commit, Time: committed, Dirty: dirty}, info)
}
