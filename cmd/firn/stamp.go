package main

import (
	"runtime/debug"

	"firn.dev/internal/term/cli"
)

// What make tells the linker of the sources (tools/stamp.sh). A plain go build
// tells it nothing, and then what the Go command wrote down counts.
var version, commit, committed, dirty string

// build is what this program is.
func build() cli.Build {
	info, _ := debug.ReadBuildInfo()
	return cli.BuildOf(cli.Stamp{Version: version, Commit: commit, Time: committed, Dirty: dirty}, info)
}
