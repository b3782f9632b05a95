package main

var made = &tested{label: "A"}
