package rush

import "fmt"

// mostViolations bounds the list: a server that is wrong about everything is
// described well enough by its first hundred lies.
const mostViolations = 100

// violations is a list of broken promises, each in one sentence.
type violations struct {
	list []string
	more int // beyond the bound
}

func (v *violations) add(format string, args ...any) {
	if len(v.list) == mostViolations {
		v.more++
		return
	}
	v.list = append(v.list, fmt.Sprintf(format, args...))
}

// all is the list, never nil, and a word about what it leaves out.
func (v *violations) all() []string {
	all := append([]string{}, v.list...)
	if v.more > 0 {
		all = append(all, fmt.Sprintf("and %d more", v.more))
	}
	return all
}
