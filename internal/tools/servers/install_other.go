//go:build !darwin && !windows

package servers

// Install returns the command that installs the program on Debian.
func (e *MissingError) Install() string { return "apt-get install " + e.Package }
