// Package pyroscope holds the fleet server against the code that others use to talk to Pyroscope: its Go SDK, and the client and the
// messages that Grafana and profilecli are built on. It has only tests, and is a module of its own, so that hone depends on none of them.
package pyroscope
