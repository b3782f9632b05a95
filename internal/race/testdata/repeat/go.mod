module example.com/repeat

go 1.21
