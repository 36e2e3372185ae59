package history

import (
	"slices"

	"github.com/anishathalye/porcupine"
)

// explanations is how many acquires without an answer may at most explain one
// refusal. With more the checker would have to look at too many orders, and the
// refusal is no evidence any more.
const explanations = 2

// pruned leaves out the acquires without an answer that make no difference. All
// that one can do is to explain a refusal, so it must be open when one came.
func pruned(all []porcupine.Operation) []porcupine.Operation {
	open := map[string][]porcupine.Operation{} // by key: as long as each may have held it
	for _, o := range all {
		if e := o.Input.(event); e.kind == ended && e.tenure < 0 {
			open[e.key] = append(open[e.key], o)
		}
	}
	needed := map[int64]bool{}
	return slices.DeleteFunc(slices.DeleteFunc(all, func(o porcupine.Operation) bool {
		e := o.Input.(event)
		if e.kind != refused {
			return false
		}
		var by []int64
		for _, g := range open[e.key] {
			if g.Call <= o.Return && o.Call <= g.Return {
				by = append(by, g.Input.(event).tenure)
			}
		}
		if len(by) > explanations {
			return true
		}
		for _, tenure := range by {
			needed[tenure] = true
		}
		return false
	}), func(o porcupine.Operation) bool {
		tenure := o.Input.(event).tenure
		return tenure < 0 && !needed[tenure]
	})
}
