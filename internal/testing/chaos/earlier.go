package chaos

import (
	"cmp"
	"context"
	"sync"

	"example.com/seckill/internal/config"
	"example.com/seckill/internal/tools/servers"
)

// earlierWords maps the codes and statuses of earlier builds to those of this one.
var earlierWords = map[string]string{
	"busy": "request_in_progress", "key_reused": "idempotency_key_reused", "not_loaded": "stock_loading", "void": "abandoned",
}

// currentWord returns the word of this build for a code or a status, which an earlier build may have sent.
func currentWord(word string) string { return cmp.Or(earlierWords[word], word) }

// oldNames has the result of servers.OldNames by program.
var oldNames sync.Map

// knownTo returns settings with the names that a build has for them: an earlier build may have the old ones.
func knownTo(ctx context.Context, program, dir string, settings []string) ([]string, error) {
	names, asked := oldNames.Load(program)
	if !asked {
		found, err := servers.OldNames(ctx, dir, program, config.RenamedVariables())
		if err != nil {
			return nil, err
		}
		names, _ = oldNames.LoadOrStore(program, found)
	}
	return servers.WithNames(settings, names.(map[string]string)), nil
}
