//! Everything else of this folder once more, on a Redis Cluster of three nodes.

use std::process::{Command, Stdio};

use crate::support::find_env;
use crate::support::redis::{CLUSTER, TestCluster};

/// Skipped: what starts servers of its own, and this.
const ALONE: [&str; 2] = ["working::fault::", "working::cluster::"];

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn the_same_tests_pass_on_a_cluster_of_three_nodes_r16() {
    if find_env(CLUSTER).is_some() {
        return;
    }
    let Some(cluster) = TestCluster::start().await else { return };
    let mut again = Command::new(std::env::current_exe().unwrap());
    again.arg("working::").args(ALONE.iter().flat_map(|name| ["--skip", name]));
    again.env(CLUSTER, cluster.urls()).stdin(Stdio::null());
    let output = tokio::task::spawn_blocking(move || again.output().unwrap()).await.unwrap();
    let said = String::from_utf8_lossy(&output.stdout);
    assert!(output.status.success(), "{said}\n{}", String::from_utf8_lossy(&output.stderr));
    let summary = said.lines().find(|line| line.starts_with("test result")).unwrap();
    eprintln!("on the cluster: {summary}");
    let keys = cluster.key_counts().await;
    assert!(keys.iter().all(|&keys| keys > 0), "every node holds keys: {keys:?}");
}
