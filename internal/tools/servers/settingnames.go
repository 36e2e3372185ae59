package servers

import (
	"context"
	"errors"
	"fmt"
	"os/exec"
	"regexp"
	"slices"
	"strings"
)

// unknownVariable matches how a build rejects a variable that it does not have.
var unknownVariable = regexp.MustCompile(`unknown variable "(\w+)"`)

// OldNames returns the old name of each variable that a build knows by its old name only. An earlier build rejects the
// names that came after it. renamed maps each old variable to its name.
func OldNames(ctx context.Context, dir, program string, renamed map[string]string) (map[string]string, error) {
	var settings []string
	for _, name := range renamed {
		if setting := name + "=?"; !slices.Contains(settings, setting) {
			settings = append(settings, setting)
		}
	}
	// No value is valid, so the build always rejects its configuration, and lists every variable that it does not know.
	out, err := Command(ctx, dir, program, settings, "check").CombinedOutput()
	if _, exited := errors.AsType[*exec.ExitError](err); !exited {
		return nil, fmt.Errorf("ask %s for the variables that it knows: %w: %s", program, err, out)
	}
	old := map[string]string{}
	for _, m := range unknownVariable.FindAllStringSubmatch(string(out), -1) {
		for before, name := range renamed {
			if name == m[1] && (old[name] == "" || before < old[name]) {
				old[name] = before
			}
		}
	}
	return old, nil
}

// WithNames returns settings in which each variable of names has the name that names has for it.
func WithNames(settings []string, names map[string]string) []string {
	out := slices.Clone(settings)
	for i, setting := range out {
		name, value, _ := strings.Cut(setting, "=")
		if old := names[name]; old != "" {
			out[i] = old + "=" + value
		}
	}
	return out
}
