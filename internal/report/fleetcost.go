package report

import (
	"errors"
	"math"
	"strconv"
	"strings"
	"time"
	"unicode"

	"github.com/hone-perf/hone/internal/unit"
)

// A Fleet is what all processes together cost that profiles out of a store are of, on average over a time.
type Fleet struct {
	Of        string    `json:"of"` // as a selector
	From      time.Time `json:"from"`
	To        time.Time `json:"to"`
	Processes float64   `json:"processes"`
	Cores     float64   `json:"cores,omitempty"`
	CoreHour  Price     `json:"core_hour,omitzero"` // of one core
}

// An Amount is what all processes have of something.
type Amount struct {
	Value float64 `json:"value"`
	Unit  string  `json:"unit"`
}

// The units of an Amount.
const (
	InCores          = "cores"
	InBytes          = "bytes"
	InBytesPerSecond = "bytes/s"
	InCountPerSecond = "1/s"
	InCount          = "count"
	InWaiting        = "waiting" // goroutines at the same time
)

func (a *Amount) String() string {
	switch a.Unit {
	case InCores:
		return unit.Cores(a.Value) + " cores"
	case InBytes:
		return unit.Size(int64(math.Round(a.Value)))
	case InBytesPerSecond:
		return unit.SizePerSecond(a.Value)
	case InCountPerSecond:
		return unit.PerSecond(a.Value)
	case InWaiting:
		return unit.Number(a.Value) + " goroutines"
	}
	return unit.Number(a.Value)
}

// A Price is an amount of money.
type Price struct {
	Value  float64 `json:"value"`
	Sign   string  `json:"sign,omitempty"`   // of the currency, such as $ or EUR
	Behind bool    `json:"behind,omitempty"` // the number
}

// ParsePrice reads a price, such as 0.04, $0.04, 0.04€ or 0.04 EUR.
func ParsePrice(text string) (Price, error) {
	text = strings.TrimSpace(text)
	isNumber := func(r rune) bool { return r >= '0' && r <= '9' || r == '.' }
	from := strings.IndexFunc(text, isNumber)
	to := strings.LastIndexFunc(text, isNumber) + 1
	wrong := errors.New("want a price such as 0.04, $0.04 or 0.04€")
	if from < 0 {
		return Price{}, wrong
	}
	before, behind := strings.TrimSpace(text[:from]), strings.TrimSpace(text[to:])
	v, err := strconv.ParseFloat(text[from:to], 64)
	sign := before + behind
	if err != nil || v <= 0 || math.IsInf(v, 0) || before != "" && behind != "" || len(sign) > 8 ||
		strings.ContainsFunc(sign, func(r rune) bool { return !unicode.IsLetter(r) && !unicode.Is(unicode.Sc, r) }) {
		return Price{}, wrong
	}
	return Price{v, sign, behind != ""}, nil
}

func (p Price) String() string {
	text := unit.Money(p.Value)
	switch {
	case p.Sign == "":
	case !p.Behind:
		text = p.Sign + text
	case len(p.Sign) > 2 && p.Sign[0] < 0x80:
		text += " " + p.Sign
	default:
		text += p.Sign
	}
	return text
}

// hoursOfMonth is that of an average month.
const hoursOfMonth = 365.25 * 24 / 12

// Month returns what so many cores cost in a month.
func (p Price) Month(cores float64) Price {
	p.Value *= cores * hoursOfMonth
	return p
}

// heading says what the fleet is, and what it costs.
func (f *Fleet) heading() Phrase {
	processes := " processes"
	if f.Processes == 1 {
		processes = " process"
	}
	out := Phrase{f.Of, Sep{}, unit.Number(math.Round(f.Processes*10) / 10), processes}
	if f.Cores > 0 {
		out = append(out, Sep{}, unit.Cores(f.Cores), " cores")
		if f.CoreHour.Value > 0 {
			out = append(out, Sep{}, f.CoreHour.Month(f.Cores).String(), " a month")
		}
	}
	return append(out, Sep{}, f.From.Format(time.DateTime), " to ", f.To.Format(dateTimeZone))
}
