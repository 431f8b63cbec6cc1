package line

// watchSize tells nothing: the size is asked for whenever something is drawn.
func watchSize() (<-chan struct{}, func()) { return nil, func() {} }

// suspender is none: programs cannot be stopped here.
func suspender() func() { return nil }
