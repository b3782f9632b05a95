module github.com/hone-perf/hone/tools/chdb

go 1.26.0

require github.com/ebitengine/purego v0.11.3
