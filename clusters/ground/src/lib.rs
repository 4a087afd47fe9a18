//! The local ground: hosts made of namespaces, a wire, disks; and the processes that hold them.
