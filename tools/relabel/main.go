// Command relabel answers what Prometheus makes of labels: it reads cases as JSON from standard input and writes them with answers.
// It is a module of its own, so that those who use hone do not depend on Prometheus.
package main

import (
	"encoding/json"
	"log"
	"os"

	"github.com/prometheus/common/model"
	"github.com/prometheus/prometheus/model/labels"
	"github.com/prometheus/prometheus/model/relabel"
	"go.yaml.in/yaml/v3"
)

type question struct {
	Rules  string            `json:"rules"`
	Labels map[string]string `json:"labels"`

	Refused bool              `json:"refused,omitempty"`
	Keep    bool              `json:"keep,omitempty"`
	Out     map[string]string `json:"out,omitempty"`
}

func (c *question) answer() {
	var rules []*relabel.Config
	if err := yaml.Unmarshal([]byte(c.Rules), &rules); err != nil {
		c.Refused = true
		return
	}
	for _, r := range rules {
		if r == nil || r.Validate(model.UTF8Validation) != nil {
			c.Refused = true
			return
		}
	}
	b := labels.NewBuilder(labels.FromMap(c.Labels))
	if c.Keep = relabel.ProcessBuilder(b, rules...); c.Keep {
		c.Out = b.Labels().Map()
	}
}

func main() {
	log.SetFlags(0)
	var cases []*question
	if err := json.NewDecoder(os.Stdin).Decode(&cases); err != nil {
		log.Fatal(err)
	}
	for _, c := range cases {
		c.answer()
	}
	enc := json.NewEncoder(os.Stdout)
	enc.SetIndent("", "\t")
	enc.SetEscapeHTML(false)
	if err := enc.Encode(cases); err != nil {
		log.Fatal(err)
	}
}
