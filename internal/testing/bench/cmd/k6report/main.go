// Command k6report makes one page of the figures of several k6 scenarios, and prints them as text. It exits with 1 if a
// scenario failed, and with 2 if it cannot write the report.
//
//	go run ./internal/testing/bench/cmd/k6report -run FOLDER [-on TEXT] [-revision TEXT] [-settings TEXT] [-machine TEXT] NAME=CODE …
//
// CODE is the exit code of k6 for the scenario NAME. The scenario leaves its figures in FOLDER/NAME.json, its table in
// NAME.txt, the output of k6 in NAME.log, and its charts in NAME.html. The page is FOLDER/index.html. The same page,
// with a list of earlier reports, is index.html in the folder that contains FOLDER. The program removes the oldest
// reports.
package main

import (
	"errors"
	"flag"
	"fmt"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"time"

	"example.com/seckill/internal/platform/system"
)

// kept is the number of reports that are kept, with the newest.
const kept = 5

func main() {
	failed, err := run()
	switch {
	case err != nil:
		fmt.Fprintln(os.Stderr, "k6report:", err)
		os.Exit(2)
	case failed:
		os.Exit(1)
	}
}

func run() (failed bool, err error) {
	folder := flag.String("run", "", "folder of this run, in the folder of all reports")
	on := flag.String("on", "", "stores of the server")
	revision := flag.String("revision", "", "revision of the server")
	settings := flag.String("settings", "", "settings of the server")
	machine := flag.String("machine", "", "machine of the load generator")
	flag.Parse()
	if *folder == "" || flag.NArg() == 0 {
		return false, errors.New("set -run and at least one NAME=CODE")
	}
	r := report{
		Name: filepath.Base(*folder), At: time.Now().UTC().Format("2006-01-02 15:04 UTC"),
		On: *on, Revision: *revision, Settings: *settings, Machine: *machine,
	}
	for _, arg := range flag.Args() {
		name, text, _ := strings.Cut(arg, "=")
		code, err := strconv.Atoi(text)
		if err != nil {
			return false, fmt.Errorf("%q: not NAME=CODE", arg)
		}
		r.Scenarios = append(r.Scenarios, readScenario(*folder, name, code))
	}
	if err := r.save(*folder); err != nil {
		return false, err
	}
	return r.Failed(), r.writeText(os.Stdout, *folder, os.Getenv("NO_COLOR") == "" && system.IsColourTerminal(os.Stdout))
}
