//! NUMA nodes, from `/sys/devices/system/node`.

use morecores_study::CpuSet;
use morecores_study::topology::NumaNode;

use super::read_set;
use crate::kernel_files::Tree;

/// Directory of the nodes: `Documentation/ABI/stable/sysfs-devices-node`.
const NODES: &str = "/sys/devices/system/node";

/// Online nodes, by number. A kernel without NUMA does not have the directory, and the result is
/// then empty without a note.
pub(super) fn read(tree: &mut Tree, online: &CpuSet) -> Vec<NumaNode> {
    // The list has the format of a CPU list.
    let ids: Vec<u32> = match read_set(tree, format!("{NODES}/online")) {
        Some(nodes) => nodes.iter().map(|id| id.0).collect(),
        None => tree.numbered(NODES, "node"),
    };
    ids.into_iter()
        .map(|id| NumaNode {
            id,
            cpus: read_set(tree, format!("{NODES}/node{id}/cpulist"))
                .unwrap_or_default()
                .intersection(online),
            distances: read_distances(tree, id),
        })
        .collect()
}

fn read_distances(tree: &mut Tree, id: u32) -> Vec<u32> {
    let text = tree.read(format!("{NODES}/node{id}/distance")).unwrap_or_default();
    text.split_whitespace().map(str::parse).collect::<Result<_, _>>().unwrap_or_default()
}
