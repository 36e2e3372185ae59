package faultnet

import (
	"fmt"
	"os"
	"strings"
)

// established reports whether a client of this machine has a connection to the port. A line of the kernel's table
// has a number, both addresses and the state, where 01 means established
// (https://www.kernel.org/doc/html/latest/networking/proc_net_tcp.html).
func established(port uint16) bool {
	table, err := os.ReadFile("/proc/net/tcp")
	if err != nil {
		return false
	}
	to := fmt.Sprintf(":%04X", port)
	for line := range strings.Lines(string(table)) {
		if f := strings.Fields(line); len(f) > 3 && strings.HasSuffix(f[2], to) && f[3] == "01" {
			return true
		}
	}
	return false
}
