package main

import (
	"bufio"
	"fmt"
	"os"
	"runtime"
	"runtime/debug"
	"sync/atomic"
	"time"

	"golang.org/x/sys/unix"

	"example.com/seckill/internal/testing/schedlatency"
)

func run() error {
	var cores unix.CPUSet
	if err := unix.SchedGetaffinity(0, &cores); err != nil {
		return fmt.Errorf("read the cores of this process: %w", err)
	}
	debug.SetGCPercent(-1) // nothing here waits for the collector, and little is allocated
	runtime.GOMAXPROCS(cores.Count() + 1)
	var longest atomic.Int64
	for core, found := 0, 0; found < cores.Count(); core++ {
		if !cores.IsSet(core) {
			continue
		}
		found++
		ready := make(chan error)
		go watch(core, &longest, ready)
		if err := <-ready; err != nil {
			return err
		}
	}
	for lines := bufio.NewScanner(os.Stdin); lines.Scan(); {
		_, _ = fmt.Fprintln(os.Stdout, longest.Swap(0))
	}
	return nil
}

// watch notes how late its thread is woken on a core, for as long as the process lives.
func watch(core int, longest *atomic.Int64, ready chan<- error) {
	runtime.LockOSThread()
	var only unix.CPUSet
	only.Set(core)
	if err := unix.SchedSetaffinity(0, &only); err != nil {
		ready <- fmt.Errorf("run a thread on core %d: %w", core, err)
		return
	}
	if err := unix.SchedSetAttr(0, &unix.SchedAttr{Size: unix.SizeofSchedAttr, Policy: unix.SCHED_FIFO, Priority: 50}, 0); err != nil {
		ready <- fmt.Errorf("give a thread the priority SCHED_FIFO: %w", err)
		return
	}
	close(ready)
	sleep := unix.NsecToTimespec(schedlatency.Nap.Nanoseconds())
	for {
		began := time.Now()
		_ = unix.Nanosleep(&sleep, nil) // a signal makes it shorter, which is not late
		late := int64(time.Since(began) - schedlatency.Nap)
		for is := longest.Load(); late > is; is = longest.Load() { // another core may tell one, too
			if longest.CompareAndSwap(is, late) {
				break
			}
		}
	}
}
