# The first process in the namespaces: mounts what systemd expects and becomes systemd.
copy=$1 out=$2 deploy=$3
fail() { echo "cannot boot: $1" >&2; exit 77; }
mount --make-rprivate /
mount -t tmpfs trial "$copy" || fail "no tmpfs"
mkdir "$copy/upper" "$copy/work" "$copy/root"
root=$copy/root
mount -t overlay trial -o "lowerdir=/,upperdir=$copy/upper,workdir=$copy/work" "$root" || fail "no overlay"
mount -t proc proc "$root/proc"
mount -t sysfs sysfs "$root/sys" || fail "no sysfs"
if [ -e /sys/fs/cgroup/cgroup.procs ]; then
    mount -t cgroup2 cgroup2 "$root/sys/fs/cgroup" || fail "no cgroups"
else
    mount -t tmpfs -o mode=755 cgroup "$root/sys/fs/cgroup"
    for top in /sys/fs/cgroup/*; do
        name=$(basename "$top")
        mkdir "$root/sys/fs/cgroup/$name"
        case $name in
            unified) mount -t cgroup2 cgroup2 "$root/sys/fs/cgroup/$name" ;;
            systemd) mount -t cgroup -o none,name=systemd cgroup "$root/sys/fs/cgroup/$name" ;;
            *) mount -t cgroup -o "$name" cgroup "$root/sys/fs/cgroup/$name" ;;
        esac || fail "no cgroups"
    done
fi
mount -t tmpfs -o mode=755 dev "$root/dev"
for node in null zero full random urandom tty; do
    : >"$root/dev/$node"
    mount --bind "/dev/$node" "$root/dev/$node"
done
mkdir "$root/dev/shm" "$root/dev/pts"
mount -t tmpfs shm "$root/dev/shm"
mount -t devpts -o newinstance,ptmxmode=0666 pts "$root/dev/pts"
ln -s pts/ptmx "$root/dev/ptmx"
ln -s /proc/self/fd "$root/dev/fd"
mount -t tmpfs -o mode=755 run "$root/run"
# systemd listens for devices only if it finds this at its start, or a devtmpfs.
mkdir "$root/run/udev"
: >"$root/run/udev/control"
mount -t tmpfs tmp "$root/tmp"
# Nothing in there changes the kernel of this machine.
mount --bind "$root/proc/sys" "$root/proc/sys"
mount -o remount,bind,ro "$root/proc/sys"
for unit in systemd-sysctl.service systemd-udev-trigger.service systemd-remount-fs.service systemd-modules-load.service \
    modprobe@.service systemd-random-seed.service systemd-binfmt.service; do
    ln -sf /dev/null "$root/etc/systemd/system/$unit"
done
mkdir "$root/out" "$root/deploy"
mount --bind "$out" "$root/out"
mount --bind "$deploy" "$root/deploy"
cat >"$root/etc/systemd/system/job.service" <<'UNIT'
[Unit]
DefaultDependencies=no
[Service]
Type=oneshot
TimeoutStartSec=infinity
StandardOutput=append:/out/job.log
StandardError=append:/out/job.log
ExecStart=/bin/sh -eux /out/job.sh
ExecStopPost=/bin/systemctl --no-block --force exit
[Install]
WantedBy=default.target
UNIT
printf '[Unit]\nRequires=job.service\nAfter=job.service\n' >"$root/etc/systemd/system/job.target"
export container=trial
exec chroot "$root" /lib/systemd/systemd --system --unit=job.target --log-target=journal --show-status=no </dev/null
