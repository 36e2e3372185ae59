package servers

import (
	"os"
	"os/exec"
	"path/filepath"

	"example.com/seckill/internal/platform/system"
)

// MissingError means that a program is not installed, or that this system cannot start it.
type MissingError struct {
	Program string // its name on the command line
	Package string // the Debian package that has it
}

// Error names the program and how to install it on this system.
func (e *MissingError) Error() string {
	if install := e.Install(); install != "" {
		return e.Program + " is not installed: " + install
	}
	return (&system.UnsupportedError{
		Thing:   "starting a private " + e.Program,
		Instead: "name servers that run elsewhere with --redis and --mysql, or use --embedded or --recorded",
	}).Error()
}

// look finds a program along PATH, and in the sbin next to each bin there: Debian keeps mariadbd in sbin and leaves
// that out of a user's PATH. The error is a *MissingError.
func look(program, debian string) (string, error) {
	missing := &MissingError{Program: program, Package: debian}
	if missing.Install() == "" {
		return "", missing
	}
	if path, err := exec.LookPath(program); err == nil {
		return path, nil
	}
	for _, dir := range filepath.SplitList(os.Getenv("PATH")) {
		if filepath.Base(dir) != "bin" {
			continue
		}
		if path, err := exec.LookPath(filepath.Join(filepath.Dir(dir), "sbin", program)); err == nil {
			return path, nil
		}
	}
	return "", missing
}

// LookRedis returns nil if StartRedis would find its program. The error is a *MissingError.
func LookRedis() error {
	_, err := look("redis-server", redisPackage)
	return err
}

// LookMariaDB returns nil if StartMariaDB would find its programs. The error is a *MissingError.
func LookMariaDB() error {
	for _, program := range []string{"mariadbd", "mariadb-install-db"} {
		if _, err := look(program, mariaDBPackage); err != nil {
			return err
		}
	}
	return nil
}

// LookPromtool returns nil if there is a promtool for the tests of the alert rules. The error is a
// *MissingError.
func LookPromtool() error {
	_, err := look("promtool", "prometheus")
	return err
}

// LookChromium returns nil if there is a browser for the tests of the page. The error is a
// *MissingError.
func LookChromium() error {
	_, err := look("chromium-headless-shell", "chromium-headless-shell")
	return err
}
