package main

// A spot is a place in the source, as hone says it in JSON.
type spot struct {
	File     string `json:"file"`
	Line     int    `json:"line"`
	Function string `json:"function"`
}

// An advice is what hone advise says.
type advice struct {
	Findings []adviceFinding `json:"findings"`
}

type adviceFinding struct {
	Rule    string `json:"rule"`
	Title   string `json:"title"`
	Where   spot   `json:"where"`
	Also    []spot `json:"also"`
	Savings []struct {
		Share float64 `json:"share"`
	} `json:"savings"`
	Fixes []adviceFix `json:"fixes"`
	NoFix string      `json:"no_fix"`
}

type adviceFix struct {
	Title string `json:"title"`
}

// A fixed is a finding and what became of its patch.
type fixed struct {
	Rule   string     `json:"rule"`
	Title  string     `json:"title"`
	Where  spot       `json:"where"`
	Fix    string     `json:"fix"`
	Patch  string     `json:"patch"`
	Reason string     `json:"reason"`
	Speed  []speedRow `json:"speed"`
}

// A speedRow is a benchmark before and after.
type speedRow struct {
	Verdict string `json:"verdict"`
}

// A fixes is what hone fix says.
type fixes struct {
	Kept    []fixed `json:"kept"`
	Refused []fixed `json:"refused"`
	Left    []fixed `json:"left"`
	Ended   string  `json:"ended"`
}
