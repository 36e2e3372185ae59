package breaks

import (
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"

	"github.com/bluekeyes/go-gitdiff/gitdiff"
)

// ErrStale says that the source has moved on and the patch no longer fits it.
var ErrStale = errors.New("breaks: the patch does not apply")

// apply answers what the file would be with the break in it. Every hunk's old
// lines must be in the file exactly once. So a patch survives changes elsewhere in
// the file, which one that went by line numbers would not, and can never land in
// the wrong place, which one that is fitted roughly can.
func (b Break) apply(root string) (string, error) {
	source, err := os.ReadFile(filepath.Join(root, b.file.OldName))
	if err != nil {
		return "", fmt.Errorf("%w: %w", ErrStale, err)
	}
	text := string(source)
	for _, hunk := range b.file.TextFragments {
		var before, after strings.Builder
		for _, line := range hunk.Lines {
			if line.Op != gitdiff.OpAdd {
				before.WriteString(line.Line)
			}
			if line.Op != gitdiff.OpDelete {
				after.WriteString(line.Line)
			}
		}
		if n := strings.Count(text, before.String()); n != 1 {
			return "", fmt.Errorf("%w: the lines from %d on are %d times in %s", ErrStale, hunk.OldPosition, n, b.file.OldName)
		}
		text = strings.Replace(text, before.String(), after.String(), 1)
	}
	return text, nil
}

// Applies answers ErrStale if the patch no longer fits the source below root.
func (b Break) Applies(root string) error {
	_, err := b.apply(root)
	return err
}

// overlay writes the broken copy into dir, with the file that tells `go test` to
// take it for the original, and answers the name of that file.
func (b Break) overlay(root, dir string) (string, error) {
	text, err := b.apply(root)
	if err != nil {
		return "", err
	}
	original, err := filepath.Abs(filepath.Join(root, b.file.OldName))
	if err != nil {
		return "", fmt.Errorf("breaks: %w", err)
	}
	broken := filepath.Join(dir, filepath.Base(original))
	if err := os.WriteFile(broken, []byte(text), 0o600); err != nil {
		return "", fmt.Errorf("breaks: %w", err)
	}
	replace, err := json.Marshal(map[string]map[string]string{"Replace": {original: broken}})
	if err != nil {
		return "", fmt.Errorf("breaks: %w", err)
	}
	path := filepath.Join(dir, "overlay.json")
	if err := os.WriteFile(path, replace, 0o600); err != nil {
		return "", fmt.Errorf("breaks: %w", err)
	}
	return path, nil
}
