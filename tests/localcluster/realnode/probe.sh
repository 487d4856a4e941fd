# Tries what a real node does. The last line on standard output names the current step. Runs in temporary namespaces.
# Reads SCRATCH (an empty folder on the file system of the node's data).
set -eu

echo "overlay mounts on the file system of the cluster's folder"
mkdir "$SCRATCH/lower" "$SCRATCH/upper" "$SCRATCH/work" "$SCRATCH/merged"
mount -n -t overlay -o "lowerdir=$SCRATCH/lower,upperdir=$SCRATCH/upper,workdir=$SCRATCH/work" overlay "$SCRATCH/merged"

echo "mounts of its own"
mount -n -t tmpfs tmpfs "$SCRATCH"
mount -n --bind /proc/sys /proc/sys
mount -n -o remount,bind,ro /proc/sys
mount -n --bind /proc/sys/net /proc/sys/net
mount -n -o remount,bind,rw /proc/sys/net
mount -n -t sysfs sysfs /sys
mount -n -o remount,bind,ro /

echo "control groups in its mounts"
mount -n -t tmpfs tmpfs /sys/fs/cgroup
mkdir /sys/fs/cgroup/memory
mount -n -t cgroup -o memory cgroup /sys/fs/cgroup/memory

echo "a pair of network interfaces (veth)"
ip link add probe0 type veth peer name probe1
echo "a network bridge"
ip link add probe2 type bridge
echo "forwarding between its interfaces"
echo 1 >/proc/sys/net/ipv4/ip_forward
echo "address translation by nftables"
nft add table ip probe
nft add chain ip probe nat '{ type nat hook postrouting priority 100; }'
nft add rule ip probe nat ip saddr 10.0.0.0/8 masquerade
nft add rule ip probe nat fib daddr type local ct mark set 1
