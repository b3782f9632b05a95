package mcp

import (
	"bytes"
	"encoding/json"
)

// A schema is the part of JSON Schema that describes what tools take and answer.
type schema struct {
	Type        any        `json:"type,omitempty"` // a name, or a list of them
	Description string     `json:"description,omitempty"`
	Items       *schema    `json:"items,omitempty"`
	Properties  properties `json:"properties,omitempty"`
	Required    []string   `json:"required,omitempty"`
	Additional  *bool      `json:"additionalProperties,omitempty"` // others than these
}

// properties have an order: callers show them in it.
type properties []property

type property struct {
	name string
	schema
}

// MarshalJSON returns an object.
func (p properties) MarshalJSON() ([]byte, error) {
	var b bytes.Buffer
	for i, one := range p {
		b.WriteByte("{,"[min(i, 1)])
		text, err := json.Marshal(one.schema)
		if err != nil {
			return nil, err
		}
		b.WriteString(quoted(one.name) + ":")
		b.Write(text)
	}
	b.WriteByte('}')
	return b.Bytes(), nil
}

// answerSchema is that of an Answer.
var answerSchema = &schema{
	Type: "object",
	Properties: properties{
		{"text", schema{Type: "string"}},
		{"result", schema{Type: "string"}},
		{"page", schema{Type: "integer"}},
		{"pages", schema{Type: "integer"}},
		{"outcome", schema{Type: "string"}},
		{"recording", schema{Type: "string"}},
		{"exit", schema{Type: "integer"}},
		{"report", schema{Description: "in place of text, where json was asked for"}},
	},
	Required:   []string{"page", "pages", "outcome"},
	Additional: new(false),
}
