module firn

go 1.26
