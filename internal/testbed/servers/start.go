package servers

import "os/exec"

// Start starts any other program the way servers are started: in a process group of its own, and
// ending with this process, however that ends. The channel is closed when the program has ended and
// was reaped; cmd.ProcessState may be read from then on.
func Start(cmd *exec.Cmd) (gone <-chan struct{}, err error) { return theForker.start(cmd) }
