module example.com/loadgen

go 1.26
