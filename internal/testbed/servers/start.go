package servers

import "os/exec"

// Start starts a program that is none of the servers, and gives it what they have:
// a process group of its own, and an end with this process, however that ends. The
// channel is closed when the program has ended and was reaped; cmd.ProcessState may
// be read from then on.
func Start(cmd *exec.Cmd) (gone <-chan struct{}, err error) { return theForker.start(cmd) }
