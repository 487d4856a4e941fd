"""Tests of the local cluster's real node, skipped where the machine cannot run one."""
