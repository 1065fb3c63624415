# Makes the layered root in $1 and stays in it as the first process, which then says "ready"; the
# other arguments are directories that lie on mounts of their own and are to be seen inside too.
set -e
root=$1
shift
mount -t tmpfs tmpfs "$root"
mkdir "$root/upper" "$root/work" "$root/all"
mount -t overlay overlay -o "lowerdir=/,upperdir=$root/upper,workdir=$root/work" "$root/all"
mount --rbind /dev "$root/all/dev"
mount -t proc proc "$root/all/proc"
mount -t tmpfs tmpfs "$root/all/tmp"
for shown; do
    mkdir -p "$root/all$shown"
    mount --bind -o ro "$shown" "$root/all$shown"
done
rm -rf "$root/all/app" "$root/all/logs" "$root/all/tests" "$root/all/solution"
mkdir -p "$root/all/app" "$root/all/logs/agent" "$root/all/logs/verifier"
exec chroot "$root/all" sh -c 'echo ready; exec sleep infinity'
