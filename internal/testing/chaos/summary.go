package chaos

import (
	"fmt"
	"io"
	"slices"
	"text/tabwriter"
	"time"
)

// Summary is what became of many rounds.
type Summary struct {
	Total  Row      `json:"total"`
	Cells  []Row    `json:"cells"`  // by lock, mode and name
	Failed int      `json:"failed"` // rounds in which a promise was broken
	Bad    []Result `json:"bad"`    // those rounds
	Floods []Result `json:"floods,omitempty"`
}

// Row adds up the rounds of one fault, or all.
type Row struct {
	Cell         string  `json:"cell"`
	Lock         string  `json:"lock"`
	Mode         string  `json:"mode,omitempty"`
	Rounds       int     `json:"rounds"`
	Struck       int     `json:"struck"` // rounds in which the fault happened
	Asked        int     `json:"asked"`
	Acknowledged int     `json:"acknowledged"`
	Committed    int     `json:"committed"`
	Doubts       int     `json:"doubts"`
	Lost         int     `json:"lost"`
	Oversold     int     `json:"oversold"`
	AboveLimit   int     `json:"above_limit"`
	Leaked       int     `json:"leaked"`
	Failed       int     `json:"failed"`
	AtRestMedian float64 `json:"settle_median_s"` // from the last fault until everything was at rest
	AtRestMax    float64 `json:"settle_max_s"`
	RecoverMax   float64 `json:"recover_max_s"` // from the last fault to the next order
	AnswerMax    float64 `json:"answer_max_s"`  // the slowest answer

	settled []time.Duration
}

func summarize(all []Result) Summary {
	s := Summary{Total: Row{Cell: "all"}, Bad: []Result{}, Cells: []Row{}}
	rows := map[[3]string]*Row{}
	var order [][3]string
	for _, r := range all {
		key := [3]string{r.Lock, r.mode(), r.Cell}
		if rows[key] == nil {
			rows[key] = &Row{Cell: r.Cell, Lock: r.Lock, Mode: r.mode()}
			order = append(order, key)
		}
		rows[key].add(r)
		s.Total.add(r)
		if r.Beside != nil {
			s.Floods = append(s.Floods, r)
		}
		if r.Failed() {
			s.Failed++
			s.Bad = append(s.Bad, r)
		}
	}
	slices.SortFunc(order, func(a, b [3]string) int { return slices.Compare(a[:], b[:]) })
	for _, key := range order {
		rows[key].finish()
		s.Cells = append(s.Cells, *rows[key])
	}
	s.Total.finish()
	return s
}

func (w *Row) add(r Result) {
	w.Rounds++
	if r.Hit {
		w.Struck++
	}
	if r.Failed() {
		w.Failed++
	}
	w.Asked += r.Asked
	w.Acknowledged += r.Acknowledged
	w.Committed += r.Committed
	w.Doubts += r.Doubts
	w.Lost += r.Lost
	w.Oversold += r.Oversold
	w.AboveLimit += r.AboveLimit
	w.Leaked += r.Leaked
	w.settled = append(w.settled, r.Settled)
	w.RecoverMax = max(w.RecoverMax, seconds(r.Recovered))
	w.AnswerMax = max(w.AnswerMax, seconds(r.Slowest))
}

func (w *Row) finish() {
	if len(w.settled) == 0 {
		return
	}
	slices.Sort(w.settled)
	w.AtRestMedian = seconds(w.settled[len(w.settled)/2])
	w.AtRestMax = seconds(w.settled[len(w.settled)-1])
}

func seconds(d time.Duration) float64 {
	return float64(d.Round(time.Millisecond)) / float64(time.Second)
}

// name is the fault's, with what it was played in unless that is the usual.
func (w Row) name() string {
	name := w.Cell
	if w.Mode != Sync && w.Mode != "" {
		name += " (mode: " + w.Mode + ")"
	}
	if w.Lock == unlocked {
		name += " (lock: none)"
	}
	return name
}

// WriteText prints a table with a line for each fault, then what went wrong.
func (s Summary) WriteText(out io.Writer) error {
	t := tabwriter.NewWriter(out, 0, 0, 2, ' ', tabwriter.AlignRight)
	_, _ = fmt.Fprintln(t, "rounds\tstruck\tasked\tacknowledged\tcommitted\tlost\toversold\tabove limit\tleaked\t"+
		"settled s\tmax s\tbroken\t  \tcell")
	for _, row := range append(slices.Clone(s.Cells), s.Total) {
		name := row.name()
		_, _ = fmt.Fprintf(t, "%d\t%d\t%d\t%d\t%d\t%d\t%d\t%d\t%d\t%.2f\t%.2f\t%d\t  \t%s\n",
			row.Rounds, row.Struck, row.Asked, row.Acknowledged, row.Committed, row.Lost, row.Oversold, row.AboveLimit,
			row.Leaked, row.AtRestMedian, row.AtRestMax, row.Failed, name)
	}
	if err := t.Flush(); err != nil {
		return fmt.Errorf("print the table: %w", err)
	}
	if err := writeFloods(out, s.Floods); err != nil {
		return err
	}
	for _, r := range s.Bad {
		_, _ = fmt.Fprintf(out, "\n%s, seed %d, lock %s, mode %s:\n", r.Cell, r.Seed, r.Lock, r.mode())
		for _, p := range r.Problems {
			_, _ = fmt.Fprintln(out, "  "+p)
		}
	}
	_, err := fmt.Fprintf(out, "\n%d rounds, %d requests, %d orders acknowledged: "+
		"%d lost, %d oversold, %d above the limit, %d leaked; %d rounds broke a promise\n",
		s.Total.Rounds, s.Total.Asked, s.Total.Acknowledged, s.Total.Lost, s.Total.Oversold, s.Total.AboveLimit, s.Total.Leaked, s.Failed)
	if err != nil {
		return fmt.Errorf("print the table: %w", err)
	}
	return nil
}
