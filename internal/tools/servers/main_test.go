package servers_test

import (
	"context"
	"fmt"
	"os"
	"testing"

	"example.com/seckill/internal/testing/testservers"
	"example.com/seckill/internal/tools/servers"
)

// victimDir makes this test program start servers in the folder that it names, instead of running
// tests, and wait to be killed.
const victimDir = "SECKILL_TEST_VICTIM"

func TestMain(m *testing.M) {
	if dir := os.Getenv(victimDir); dir != "" {
		victim(dir)
	}
	testservers.Main(m)
}

// victim prints a process id on each line, and then waits.
func victim(dir string) {
	m, err := servers.StartMariaDB(context.Background(), dir+"/m")
	if err != nil {
		panic(err)
	}
	r, err := servers.StartRedis(context.Background(), dir+"/r")
	if err != nil {
		panic(err)
	}
	fmt.Println(m.PID()) //nolint:forbidigo // the parent reads it
	fmt.Println(r.PID()) //nolint:forbidigo // the parent reads it
	select {}
}
