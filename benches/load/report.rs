//! The ratios, as tables.

use crate::phase::{Figures, Phase};

/// One line of a table: a phase of ours beside one of a yardstick.
pub struct Line {
    pub label: &'static str,
    pub ours: &'static str,
    pub theirs: &'static str,
}

const fn line(label: &'static str, ours: &'static str, theirs: &'static str) -> Line {
    Line { label, ours, theirs }
}

/// Work as the floor does it. Every query is new to the server, except in the last lines: there, as the floor's are,
/// they are asked by one client and then again by all, and the vectors of the second time are in memory.
pub const BESIDE_FLOOR: [Line; 10] = [
    line("adds, 1 client", "add_c1", "add_c1"),
    line("adds, 8 clients", "add_c8", "add_c8"),
    line("hybrid searches, 1 client", "hybrid_c1", "search_c1"),
    line("hybrid searches, 8 clients", "hybrid_c8", "search_c8"),
    line("semantic searches, 1 client", "semantic_c1", "search_c1"),
    line("semantic searches, 8 clients", "semantic_c8", "search_c8"),
    line("lexical searches, 1 client", "lexical_c1", "search_c1"),
    line("lexical searches, 8 clients", "lexical_c8", "search_c8"),
    line("hybrid, as the floor's, 8", "hybrid_as_floor_c8", "search_c8"),
    line("semantic, as the floor's, 8", "semantic_as_floor_c8", "search_c8"),
];

/// Work that is mostly the embedder's.
pub const BESIDE_EMBEDDER: [Line; 8] = [
    line("adds, 1 client", "add_c1", "add_c1"),
    line("adds, 8 clients", "add_c8", "add_c8"),
    line("batches of 64, 2 clients", "batch_64", "batch_64"),
    line("batches of 256, 2 clients", "batch_256", "batch_256"),
    line("hybrid searches, 1 client", "hybrid_c1", "search_c1"),
    line("hybrid searches, 8 clients", "hybrid_c8", "search_c8"),
    line("semantic searches, 1 client", "semantic_c1", "search_c1"),
    line("semantic searches, 8 clients", "semantic_c8", "search_c8"),
];

/// Work that is mostly Postgres'.
pub const BESIDE_SQL: [Line; 4] = [
    line("hybrid searches, 8 clients", "hybrid", "hybrid"),
    line("semantic searches, 8 clients", "semantic", "semantic"),
    line("lexical searches, 8 clients", "lexical", "lexical"),
    line("a list of one, 1 client", "list", "list"),
];

/// What a request costs before it reaches Postgres, and with it.
pub const OVERHEAD: [Line; 2] =
    [line("GET /livez", "livez", "list"), line("GET a list of one", "list", "list")];

/// Prints how many times as many operations a second we do: by the medians, and in each round to show the spread.
///
/// Where both were watched, also how many times as much processor time an operation takes, and Postgres' part in it.
pub fn print_rounds(title: &str, lines: &[Line], ours: &[Figures], theirs: &[Figures]) {
    println!("\n{title}");
    println!("{:<28}{:>7}   {:<22}{:>8}{:>13}", "", "rate", "in each round", "CPU", "in Postgres");
    for line in lines {
        let (ours, theirs) = (phases(ours, line.ours), phases(theirs, line.theirs));
        let rates = median(&ours, rate) / median(&theirs, rate);
        let each: Vec<String> = ours
            .iter()
            .zip(&theirs)
            .map(|(ours, theirs)| format!("{:.2}", rate(ours) / rate(theirs)))
            .collect();
        let (our_cpu, their_cpu) = (median(&ours, cpu), median(&theirs, cpu));
        let (mut times, mut part) = (String::new(), String::new());
        if our_cpu > 0.0 && their_cpu > 0.0 {
            times = format!("{:.2}", our_cpu / their_cpu);
            part = format!("{:.0} %", 100.0 * median(&ours, |phase| phase.postgres_cpu_ms) / our_cpu);
        }
        println!("{:<28}{rates:>7.2}   {:<22}{times:>8}{part:>13}", line.label, each.join("  "));
    }
}

/// Prints how many times as long the median operation takes us.
pub fn print_times(title: &str, lines: &[Line], ours: &[Figures], theirs: &[Figures]) {
    println!("\n{title}");
    for line in lines {
        let time = |phase: &Phase| phase.p50_ms;
        let times = median(&phases(ours, line.ours), time) / median(&phases(theirs, line.theirs), time);
        println!("{:<28}{times:>7.2}", line.label);
    }
}

fn phases(rounds: &[Figures], name: &str) -> Vec<Phase> {
    rounds.iter().filter_map(|figures| figures.get(name).copied()).collect()
}

fn rate(phase: &Phase) -> f64 {
    phase.per_second
}

fn cpu(phase: &Phase) -> f64 {
    phase.server_cpu_ms + phase.postgres_cpu_ms
}

fn median(phases: &[Phase], figure: impl Fn(&Phase) -> f64) -> f64 {
    let mut values: Vec<f64> = phases.iter().map(figure).collect();
    values.sort_unstable_by(f64::total_cmp);
    values.get(values.len() / 2).copied().unwrap_or(f64::NAN)
}
