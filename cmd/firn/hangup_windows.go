package main

import "os"

// notifyHangup does nothing: Windows has no SIGHUP.
func notifyHangup(chan<- os.Signal) {}
