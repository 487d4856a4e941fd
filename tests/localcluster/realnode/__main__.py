"""Prints what a real node needs of this machine, each with the obstacle behind a tab, for `make doctor`.

It finds the programs itself.
"""

from pathlib import Path

from tests.localcluster.realnode.prerequisites import PROGRAMS, check_real_node

if __name__ == "__main__":
    for need, obstacle in check_real_node(Path.cwd()):
        if need != PROGRAMS:
            print(need, obstacle or "", sep="\t")
