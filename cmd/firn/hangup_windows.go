package main

import "os"

// notifyHangup does nothing: Windows has no such signal.
func notifyHangup(chan<- os.Signal) {}
