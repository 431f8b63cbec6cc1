package cli

import "os"

// terminate kills a process: Windows cannot signal a process of another console.
// Acknowledged data is on disk.
func terminate(p *os.Process) error { return p.Kill() }
