package cli

import "os"

// terminate ends a process: Windows knows no way to ask one of another console.
// What was acknowledged is on disk.
func terminate(p *os.Process) error { return p.Kill() }
