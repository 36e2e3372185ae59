package servers

import (
	"context"
	"fmt"
	"io"
	"net"
)

// claimPort claims a port for this process. It listens on an abstract socket: one process can do that, and the claim
// ends with the process.
func claimPort(ctx context.Context, port int) (io.Closer, error) {
	return new(net.ListenConfig).Listen(ctx, "unix", fmt.Sprintf("@seckill-port-%d", port)) //nolint:wrapcheck // freePorts tries another port
}
