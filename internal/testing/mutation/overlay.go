package mutation

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
var ErrStale = errors.New("mutation: the patch does not apply")

// apply returns what the file would be with the mutation in it. Every hunk's old
// lines must be in the file exactly once. So a patch survives changes elsewhere in
// the file, which one that went by line numbers would not, and can never land in
// the wrong place, which one that is fitted roughly can.
func (m Mutant) apply(root string) (string, error) {
	source, err := os.ReadFile(filepath.Join(root, m.file.OldName))
	if err != nil {
		return "", fmt.Errorf("%w: %w", ErrStale, err)
	}
	text := string(source)
	for _, hunk := range m.file.TextFragments {
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
			return "", fmt.Errorf("%w: the lines from %d on are %d times in %s", ErrStale, hunk.OldPosition, n, m.file.OldName)
		}
		text = strings.Replace(text, before.String(), after.String(), 1)
	}
	return text, nil
}

// Applies returns ErrStale if the patch no longer fits the source below root.
func (m Mutant) Applies(root string) error {
	_, err := m.apply(root)
	return err
}

// overlay writes the mutated copy into dir, with the file that tells `go test` to
// take it for the original, and returns the name of that file.
func (m Mutant) overlay(root, dir string) (string, error) {
	text, err := m.apply(root)
	if err != nil {
		return "", err
	}
	original, err := filepath.Abs(filepath.Join(root, m.file.OldName))
	if err != nil {
		return "", fmt.Errorf("mutation: %w", err)
	}
	mutated := filepath.Join(dir, filepath.Base(original))
	if err := os.WriteFile(mutated, []byte(text), 0o600); err != nil {
		return "", fmt.Errorf("mutation: %w", err)
	}
	replace, err := json.Marshal(map[string]map[string]string{"Replace": {original: mutated}})
	if err != nil {
		return "", fmt.Errorf("mutation: %w", err)
	}
	path := filepath.Join(dir, "overlay.json")
	if err := os.WriteFile(path, replace, 0o600); err != nil {
		return "", fmt.Errorf("mutation: %w", err)
	}
	return path, nil
}
