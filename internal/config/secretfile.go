package config

import (
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"strconv"
	"strings"
)

// fileSuffix ends the variable that names the file of a secret, as in SECKILL_AUTH__SECRET_FILE. Docker and Kubernetes
// hand secrets to a container as files, and the image has no shell that could read them into variables.
const fileSuffix = "_FILE"

// largestSecret bounds the file of a secret in bytes.
const largestSecret = 64 << 10

// FileVariable returns the variable that names a file with the key's value, or "" for a key that is not a secret.
func (k Key) FileVariable() string {
	if k.Kind != "secret" {
		return ""
	}
	return k.Variable + fileSuffix
}

// takeFile notes the file that a variable names, and reports whether the variable is one for files.
func (v *variables) takeFile(name, path string) bool {
	for _, k := range keys {
		switch name {
		case k.FileVariable():
			v.files[k.Variable] = path
			return true
		case k.Variable + fileSuffix:
			v.wrong.add(name+": only a secret can come from a file: set "+k.Variable, k.Path)
			return true
		}
	}
	return false
}

// readSecrets sets the secrets that are in files. The problems name the variable and the file and never the content.
func (v *variables) readSecrets() {
	for _, k := range keys {
		path, named := v.files[k.Variable]
		if !named {
			continue
		}
		if v.set[k.Variable] {
			v.wrong.add(k.Variable+" and "+k.FileVariable()+" are both set: unset one of them", k.Path)
			continue
		}
		secret, err := readSecret(path)
		if err != nil {
			v.wrong.add(k.FileVariable()+": "+err.Error(), k.Path)
			continue
		}
		k.set(v.into, secret)
	}
}

// readSecret returns the content of a file without its last newline, which editors add.
func readSecret(path string) (Secret, error) {
	if path == "" {
		return "", errors.New("names no file: write its path, or unset the variable")
	}
	file, err := os.Open(path)
	if err != nil {
		return "", unreadable(path, err)
	}
	defer func() { _ = file.Close() }()
	content, err := io.ReadAll(io.LimitReader(file, largestSecret+1))
	if err != nil {
		return "", unreadable(path, err)
	}
	if len(content) > largestSecret {
		return "", fmt.Errorf("the file %s is larger than 64 KiB: name the file of one secret", strconv.Quote(path))
	}
	text := strings.TrimSuffix(string(content), "\n")
	return Secret(strings.TrimSuffix(text, "\r")), nil
}

// unreadable returns the error of a file without the path in it, which is quoted so that it is safe to print.
func unreadable(path string, err error) error {
	if of, ok := errors.AsType[*fs.PathError](err); ok {
		err = of.Err
	}
	return fmt.Errorf("cannot read the file %s: %w", strconv.Quote(path), err)
}
