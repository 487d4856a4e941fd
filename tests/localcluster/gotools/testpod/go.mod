module xapp-operator.io/gotools/testpod

go 1.26.0
