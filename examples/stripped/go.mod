module example.com/stripped

go 1.26
