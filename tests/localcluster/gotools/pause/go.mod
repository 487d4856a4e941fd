module xapp-operator.io/gotools/pause

go 1.26.0
