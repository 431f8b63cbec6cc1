package cluster_test

const processEnv = "FIRN_TEST_GATEWAY"

func beProcess() int { return 0 }
