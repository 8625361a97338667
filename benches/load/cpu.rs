//! What processes cost, from `/proc`. Where there is none, everything costs nothing.

use std::collections::HashMap;
use std::fs;

/// How many ticks of `/proc` make a second: on Linux always this, whatever the kernel's own clock does.
const TICKS_PER_SECOND: f64 = 100.0;

/// The processes of a service, by their first.
#[derive(Clone, Copy)]
pub struct Watched {
    pub server: Option<u32>,
    pub postgres: Option<u32>,
}

/// Seconds of processor time that the processes have used so far.
#[derive(Clone, Copy, Default)]
pub struct Cpu {
    pub server: f64,
    pub postgres: f64,
}

impl Watched {
    /// No process at all.
    pub const NOTHING: Self = Self { server: None, postgres: None };

    /// Reads the counters now.
    pub fn read(self) -> Cpu {
        let processes = processes();
        let seconds = |root: Option<u32>| root.map_or(0.0, |root| tree_seconds(&processes, root));
        Cpu { server: seconds(self.server), postgres: seconds(self.postgres) }
    }
}

impl Cpu {
    /// What was used since an earlier reading, in milliseconds, for each of a number of operations.
    #[expect(clippy::cast_precision_loss, reason = "counts of operations are small")]
    pub fn since(self, start: Self, operations: usize) -> Self {
        let each = |end: f64, start: f64| (end - start) * 1e3 / operations.max(1) as f64;
        Self { server: each(self.server, start.server), postgres: each(self.postgres, start.postgres) }
    }
}

struct Process {
    parent: u32,
    own: f64,
    /// Of children that have ended.
    ended: f64,
}

fn processes() -> HashMap<u32, Process> {
    let entries = fs::read_dir("/proc").into_iter().flatten().flatten();
    entries
        .filter_map(|entry| {
            let pid = entry.file_name().to_str()?.parse().ok()?;
            Some((pid, parse(&fs::read_to_string(entry.path().join("stat")).ok()?)?))
        })
        .collect()
}

/// The name of a program may hold anything, also brackets; after the last one stand numbers only.
fn parse(stat: &str) -> Option<Process> {
    let (_, numbers) = stat.rsplit_once(')')?;
    let numbers: Vec<&str> = numbers.split_whitespace().collect();
    let seconds = |at: usize| Some(numbers.get(at)?.parse::<f64>().ok()? / TICKS_PER_SECOND);
    Some(Process {
        parent: numbers.get(1)?.parse().ok()?,
        own: seconds(11)? + seconds(12)?,
        ended: seconds(13)? + seconds(14)?,
    })
}

fn tree_seconds(processes: &HashMap<u32, Process>, root: u32) -> f64 {
    let mut seconds = processes.get(&root).map_or(0.0, |process| process.ended);
    let mut open = vec![root];
    while let Some(pid) = open.pop() {
        seconds += processes.get(&pid).map_or(0.0, |process| process.own);
        open.extend(processes.iter().filter(|(_, process)| process.parent == pid).map(|(&pid, _)| pid));
    }
    seconds
}
