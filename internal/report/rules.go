package report

import "strings"

// A RuleWithoutData is a rule of a server that cannot fire, because the store has never had a profile that it measures.
type RuleWithoutData struct {
	Rule  string   `json:"rule"`
	Of    string   `json:"of,omitempty"` // its selector; "" is all services
	Kind  string   `json:"kind"`         // of the profiles that it measures
	Lacks Lack     `json:"lacks"`
	Name  string   `json:"name,omitempty"`  // of the service or label that is not there, or of the label whose value is not there
	Meant string   `json:"meant,omitempty"` // a known name that is similar
	Known []string `json:"known,omitempty"` // names that are there in its place; none if the store has no profiles at all
	More  bool     `json:"more,omitempty"`  // there are further names
	Text  string   `json:"text"`
}

// A Lack is what a store has never had.
type Lack string

// What a store may lack.
const (
	LacksService Lack = "service" // or a service that a selector matches, if there is no Name
	LacksLabel   Lack = "label"
	LacksValue   Lack = "value" // of the label Name
	LacksKind    Lack = "kind"
)

// Words says what is missing, and what there is in its place.
func (r *RuleWithoutData) Words() string {
	of := r.Of
	if of == "" {
		of = "any service"
	}
	var text, known string
	switch r.Lacks {
	case LacksLabel:
		text, known = "no data for "+of+": no profile has the label "+r.Name, "known labels are "
	case LacksValue:
		text, known = "no data for "+of+": no profile has this "+r.Name, "known values are "
	case LacksKind:
		text, known = "no "+r.Kind+" profiles of "+of, "there are profiles of the kinds "
	default:
		text, known = "no data for service "+r.Name, "known services are "
		if r.Name == "" {
			text = "no data for " + of
		}
	}
	if r.Meant != "" {
		text += " (did you mean " + r.Meant + "?)"
	}
	if len(r.Known) == 0 {
		return text + "; the store has no profiles"
	}
	text += "; " + known + strings.Join(r.Known, ", ")
	if r.More {
		text += ", …"
	}
	return text
}
