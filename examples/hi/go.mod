module example.com/hi

go 1.26
