#!/usr/bin/env bash
# First process of a cluster's namespaces, started by machine.sh: makes private what the cluster would change on the
# machine, then becomes the process that everything ends with.
#   holder.sh FOLDER
set -euo pipefail
folder=$1

# The kubelet, containerd and the CNI plugins write to fixed places outside of the folder.
mount -t tmpfs tmpfs /run
mkdir /run/folder
mount --bind "$folder" /run/folder
for place in lib log; do
  mkdir -p /run/overlay/$place/{upper,work}
  mount -t overlay overlay /var/$place \
    -o lowerdir=/var/$place,upperdir=/run/overlay/$place/upper,workdir=/run/overlay/$place/work
done
mount --move /run/folder "$folder"

# The kubelet sets these, which would be of the whole machine.
for name in vm/overcommit_memory vm/panic_on_oom kernel/panic kernel/panic_on_oops kernel/keys/root_maxkeys \
  kernel/keys/root_maxbytes; do
  mkdir -p "/run/sysctl/$name"
  cat "/proc/sys/$name" >"/run/sysctl/$name/value"
  mount --bind "/run/sysctl/$name/value" "/proc/sys/$name"
done

# Mounts of pods must reach the programs that start them.
mount --make-rshared /
hostname caravan-node
exec -a "caravan-cluster $folder" "$folder/pause"
