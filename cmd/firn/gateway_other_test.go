//go:build !unix

package main

import "github.com/rogpeppe/go-internal/testscript"

// gatewayCommand needs signals.
func gatewayCommand(ts *testscript.TestScript, _ bool, _ []string) {
	ts.Fatalf("gateways are not run next to scripts on this system")
}
