# Sets up mounts and network inside a node's namespaces, before anything else runs there.
# Reads NODE (private folder), HIERARCHIES (mount options, separated by spaces), ADDRESS, GATEWAY, SERVICES, PORTS.
set -eu

mount -n -t proc proc /proc
mount -n --bind "$NODE" "$NODE"

mount -n -t sysfs sysfs /sys
mount -n -t tmpfs -o mode=755 tmpfs /sys/fs/cgroup
for controllers in $HIERARCHIES; do
  mkdir "/sys/fs/cgroup/${controllers#name=}"
  case $controllers in
    name=*) mount -n -t cgroup -o "none,$controllers" cgroup "/sys/fs/cgroup/${controllers#name=}" ;;
    *) mount -n -t cgroup -o "$controllers" cgroup "/sys/fs/cgroup/$controllers" ;;
  esac
done

mount -n -t tmpfs -o mode=755 tmpfs /run
mount -n --bind "$NODE/lib" /var/lib
mount -n --bind "$NODE/log" /var/log
mount -n -o remount,bind,ro /

# the machine's settings are read-only; those of this network namespace are writable
mount -n --bind /proc/sys /proc/sys
mount -n -o remount,bind,ro /proc/sys
mount -n --bind /proc/sys/net /proc/sys/net
mount -n -o remount,bind,rw /proc/sys/net
while read -r path value; do
  if [ -e "/proc/sys/$path" ]; then
    printf '%s\n' "$value" >"$NODE/sysctl/${path##*/}"
    mount -n --bind "$NODE/sysctl/${path##*/}" "/proc/sys/$path"
  fi
done <<'VALUES'
vm/overcommit_memory 1
vm/panic_on_oom 0
kernel/panic 10
kernel/panic_on_oops 1
kernel/keys/root_maxkeys 1000000
kernel/keys/root_maxbytes 25000000
VALUES
mount -n --make-rshared /

ip link set lo up
ip address add "$ADDRESS/30" dev eth0
ip link set eth0 up
# a service's address is translated on output, which needs a route; there is no default route
ip route add "$SERVICES" via "$GATEWAY"
echo 1 >/proc/sys/net/ipv4/ip_forward
echo "$PORTS" >/proc/sys/net/ipv4/ip_local_reserved_ports
if [ -e /proc/sys/net/bridge/bridge-nf-call-iptables ]; then
  echo 1 >/proc/sys/net/bridge/bridge-nf-call-iptables
fi
