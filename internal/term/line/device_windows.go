package line

// watchSize returns nil: the size is queried on every draw.
func watchSize() (<-chan struct{}, func()) { return nil, func() {} }

// suspender returns nil: processes cannot be stopped on Windows.
func suspender() func() { return nil }
