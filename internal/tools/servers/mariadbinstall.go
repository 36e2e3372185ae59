package servers

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"os"
	"path/filepath"
	"time"
)

// installMariaDB creates a data folder, unless there is one. The folder gets its name when it is complete, so that
// no server uses an incomplete one.
//
// The installer makes the same files every time, and takes more than a second of a processor: they are kept
// in the user's cache, some megabytes, and copied from there.
func installMariaDB(ctx context.Context, dir, data string) error {
	server, err := look("mariadbd", mariaDBPackage)
	if err != nil {
		return err
	}
	installer, err := look("mariadb-install-db", mariaDBPackage)
	if err != nil {
		return err
	}
	if _, err := os.Stat(data); err == nil {
		return nil
	}
	args := []string{"--no-defaults", "--auth-root-authentication-method=normal", "--skip-test-db"}
	if os.Geteuid() == 0 {
		args = append(args, "-uroot") // with --user the installer calls chown, with the path unquoted
	}
	half, kept := data+".new", keptData(args, server, installer)
	if err := os.RemoveAll(half); err != nil {
		return fmt.Errorf("clear %s: %w", half, err)
	}
	if kept == "" || copyFiles(kept, half, whole) != nil {
		if err := os.RemoveAll(half); err != nil {
			return fmt.Errorf("clear %s: %w", half, err)
		}
		// The installer does not quote --tmpdir either: a variable keeps a folder with spaces whole.
		env := []string{"TMPDIR=" + tmpOf(dir)}
		if err := run(ctx, filepath.Join(dir, "install.log"), env, installer, append(args, "--datadir="+half)...); err != nil {
			return err
		}
		if kept != "" {
			keepData(half, kept)
		}
	}
	if err := os.Rename(half, data); err != nil {
		return fmt.Errorf("move the data of MariaDB into place: %w", err)
	}
	return nil
}

// keptData returns the folder that keeps what these programs install with these arguments, or "" if there can be
// none. Another version of one of them has another.
func keptData(args []string, programs ...string) string {
	cache, err := os.UserCacheDir()
	if err != nil {
		return ""
	}
	sum := sha256.New()
	_, _ = fmt.Fprintln(sum, args)
	for _, program := range programs {
		info, err := os.Stat(program)
		if err != nil {
			return ""
		}
		_, _ = fmt.Fprintln(sum, program, info.Size(), info.ModTime().UnixNano())
	}
	return filepath.Join(cache, "seckill", "mariadb", hex.EncodeToString(sum.Sum(nil)[:8]))
}

// unused is the age at which what else is in the cache is removed: of other versions, or of a process that was killed
// while it made it.
const unused = time.Hour

// keepData copies data into the cache, whole or not at all, also after a loss of power. If it cannot, the next
// installs again.
func keepData(data, kept string) {
	cache := filepath.Dir(kept)
	if os.MkdirAll(cache, 0o700) != nil {
		return
	}
	own, err := os.MkdirTemp(cache, "new-")
	if err != nil {
		return
	}
	defer func() { _ = os.RemoveAll(own) }()
	complete := filepath.Join(own, "data")
	if copyFiles(data, complete, sparse) != nil || syncFiles(own) != nil {
		return
	}
	others, _ := os.ReadDir(cache)
	for _, e := range others {
		if info, err := e.Info(); err == nil && time.Since(info.ModTime()) > unused {
			_ = os.RemoveAll(filepath.Join(cache, e.Name()))
		}
	}
	_ = os.Rename(complete, kept) // another process may have been first
}
