package harness

// Text is a text in English and in Chinese.
type Text struct {
	EN string `json:"en"`
	ZH string `json:"zh"`
}

// NewText returns a Text.
func NewText(en, zh string) Text { return Text{EN: en, ZH: zh} }

// In returns the text in a language, "en" or "zh".
func (t Text) In(language string) string {
	if language == "zh" {
		return t.ZH
	}
	return t.EN
}

// Experiment shows one anomaly, and what prevents it.
type Experiment struct {
	Name   string // its name on the command line
	Title  Text
	Lesson Text // what happens, why, and what prevents it
	Wild   Text // where it is met in practice
	Needs  []Server
	Cases  []Case
}

// Case is one way of doing the work of an experiment.
type Case struct {
	Label  Text
	Wrong  bool // it is expected to break a rule; otherwise it must not
	Script func(run *Run)
}

// Wrong returns a case that shows the anomaly.
func Wrong(label Text, play func(run *Run)) Case {
	return Case{Label: label, Wrong: true, Script: play}
}

// Right returns a case without it.
func Right(label Text, play func(run *Run)) Case { return Case{Label: label, Script: play} }

// Server is what an experiment runs on.
type Server string

// The servers. Redis, RealRedis and Database may be the reader's own, found by
// configuration; OwnRedis is always private.
const (
	Redis     Server = "redis"    // the embedded one is enough
	RealRedis Server = "redis!"   // one that counts, or has more commands than the embedded one
	OwnRedis  Server = "redis+"   // one or more that are killed, or that must hold nothing else
	Database  Server = "database" // MariaDB or MySQL: SQLite has no row locks
	Process   Server = "process"  // no server: the actor itself
)
