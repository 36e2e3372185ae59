// Command k6report makes one page of what k6 said of several scenarios, and prints the
// same as a table. It exits with 1 if one of them has failed, and with 2 if it cannot tell.
//
//	go run ./internal/testing/bench/cmd/k6report -run FOLDER [-on TEXT] [-revision TEXT] [-settings TEXT] NAME=CODE …
//
// CODE is k6's exit code for the scenario NAME, whose summary is in FOLDER/NAME.json,
// charts in NAME.html and words in NAME.txt. The page is FOLDER/index.html, and again
// index.html beside FOLDER, with a list of the reports before it. The oldest of them go.
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
)

// kept is how many reports there are, the newest among them.
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
	folder := flag.String("run", "", "the folder of this run, in the folder of all reports")
	on := flag.String("on", "", "what the shop ran on")
	revision := flag.String("revision", "", "of the shop")
	settings := flag.String("settings", "", "of the run")
	flag.Parse()
	if *folder == "" || flag.NArg() == 0 {
		return false, errors.New("-run and at least one NAME=CODE are needed")
	}
	r := report{
		Name: filepath.Base(*folder), At: time.Now().UTC().Format("2006-01-02 15:04 UTC"),
		On: *on, Revision: *revision, Settings: *settings,
	}
	for _, arg := range flag.Args() {
		name, text, _ := strings.Cut(arg, "=")
		code, err := strconv.Atoi(text)
		if err != nil {
			return false, fmt.Errorf("%q is no NAME=CODE", arg)
		}
		r.Scenarios = append(r.Scenarios, readScenario(*folder, name, code))
	}
	if err := r.save(*folder); err != nil {
		return false, err
	}
	return r.Failed(), r.writeText(os.Stdout)
}
