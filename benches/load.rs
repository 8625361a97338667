//! Speed as ratios: beside a floor, the embedder alone, and Postgres alone, all on this machine in the same run (F-7).
//!
//! Bare times say more about a machine than about a program, so that none is printed; `load.json` in the folder of
//! the run keeps them for those who look for the reason of a ratio. The server is this build in the same profile,
//! started on a database of its own, which is dropped again.

#[path = "../eval/client.rs"]
mod client;
#[path = "load/cpu.rs"]
mod cpu;
#[path = "load/embedder.rs"]
mod embedder;
#[path = "load/floor.rs"]
mod floor;
#[path = "load/log.rs"]
mod log;
#[path = "load/pgbench.rs"]
mod pgbench;
#[path = "load/phase.rs"]
mod phase;
#[path = "load/postgres.rs"]
mod postgres;
#[path = "load/product.rs"]
mod product;
#[path = "load/raw.rs"]
mod raw;
#[path = "load/report.rs"]
mod report;
#[path = "load/server.rs"]
mod server;
#[path = "load/text.rs"]
mod text;
#[path = "load/working.rs"]
mod working;

use std::fs;
use std::path::PathBuf;
use std::slice;

use anyhow::{Context as _, Result, bail};
use clap::Parser;
use memtide::config::Config;
use memtide::embed::EmbedConfig;
use serde_json::json;

use cpu::Watched;
use embedder::Alone;
use log::Log;
use phase::{Figures, Phase};
use postgres::Postgres;
use product::Product;
use server::Server;
use text::{Counts, Fresh, Texts};

/// The server uses it too, and the embedder is much slower without.
#[global_allocator]
static ALLOCATOR: mimalloc::MiMalloc = mimalloc::MiMalloc;

/// How many clients are many.
pub const MANY: usize = 8;

/// How many texts are in a batch.
pub const BATCHES: [usize; 2] = [64, 256];

/// How many clients send batches: one would leave the embedder without work while Postgres stores.
pub const BATCH_CLIENTS: usize = 2;

/// How many different searches pgbench replays; it takes 128 scripts at most.
const REPLAYED: usize = 40;

/// How many requests the overhead is measured by.
const REQUESTS: usize = 2_000;

const LIVEZ: &str = "/livez";
const LIST: &str = "/v1/memory/items?limit=1";

/// Compares the speed of the server with that of other things on the same machine.
#[derive(Parser)]
struct Args {
    /// A floor program, with `gen_text.py` beside it: it adds and searches the same texts in the plainest way.
    #[arg(long)]
    floor: Option<PathBuf>,
    /// pgbench, of the release of Postgres in use.
    #[arg(long, default_value = "pgbench")]
    pgbench: PathBuf,
    /// redis-benchmark, of any release.
    #[arg(long, default_value = "redis-benchmark")]
    redis_benchmark: PathBuf,
    /// Only working memory.
    #[arg(long)]
    working: bool,
    /// How often everything is done in turn.
    #[arg(long, default_value_t = 3)]
    rounds: usize,
    /// How many memories are added one by one in a round.
    #[arg(long, default_value_t = 2_000)]
    memories: usize,
    /// How many searches are made in each way in a round.
    #[arg(long, default_value_t = 300)]
    queries: usize,
    /// Where the server runs and leaves its log, and where the figures are kept.
    #[arg(long, default_value = ".bench")]
    folder: PathBuf,
    /// What cargo passes to every bench.
    #[arg(long, hide = true)]
    bench: bool,
}

/// What a run works with.
struct Bench {
    args: Args,
    config: Config,
    model_dir: PathBuf,
    postgres: Postgres,
    texts: Texts,
    counts: Counts,
}

/// What pgbench replays.
struct Scripts {
    searches: Vec<(&'static str, Vec<PathBuf>)>,
    list: PathBuf,
}

#[tokio::main(flavor = "current_thread")]
async fn main() -> Result<()> {
    tokio::task::LocalSet::new().run_until(run(Args::parse())).await
}

async fn run(args: Args) -> Result<()> {
    pgbench::check(&args.pgbench)?;
    let config = Config::from_env()?;
    let EmbedConfig::Local(local) = &config.embedding else {
        bail!("the bench needs MEMTIDE_EMBEDDER=local")
    };
    let model_dir = fs::canonicalize(&local.model_dir).context("MEMTIDE_MODEL_DIR")?;
    fs::create_dir_all(&args.folder)?;
    let largest_batch = BATCHES[BATCHES.len() - 1];
    let batch = (args.memories.div_ceil(largest_batch)).max(BATCH_CLIENTS) * largest_batch;
    let counts = Counts { memories: args.memories, queries: args.queries, batch };
    let texts =
        if let Some(floor) = &args.floor { Texts::beside(floor, counts)? } else { Texts::own(counts) };
    let postgres = Postgres::prepare(&config.database).await?;
    let mut bench = Bench { args, config, model_dir, postgres, texts, counts };
    let done = bench.run().await;
    bench.postgres.drop_databases().await?;
    done
}

impl Bench {
    async fn run(&mut self) -> Result<()> {
        self.working().await?;
        if self.args.working {
            return Ok(());
        }
        self.beside_floor_and_embedder().await?;
        if let Some(log) = self.postgres.log.clone() {
            self.beside_sql(Log::new(log)).await
        } else {
            eprintln!("Postgres logs to no file of this machine: its statements cannot be replayed");
            Ok(())
        }
    }

    async fn beside_floor_and_embedder(&self) -> Result<()> {
        let server = self.start_server().await?;
        let mut embedder = Alone::load(self.config.embedding.clone()).await?;
        let mut fresh = Fresh::default();
        let (mut floor, mut alone, mut ours) = (Vec::new(), Vec::new(), Vec::new());
        for round in 1..=self.args.rounds {
            if let Some(program) = &self.args.floor {
                eprintln!("round {round} of {}: the floor", self.args.rounds);
                floor.push(floor::round(program, &self.postgres, &self.model_dir, self.counts)?);
            }
            eprintln!("round {round} of {}: the embedder alone", self.args.rounds);
            alone.push(embedder.round(&self.texts).await?);
            eprintln!("round {round} of {}: the server", self.args.rounds);
            let watched = self.watched(&server);
            ours.push(product::round(&server, watched, &namespace(round), &self.texts, &mut fresh).await?);
        }
        let raw = json!({ "floor": floor, "embedder": alone, "server": ours });
        fs::write(self.args.folder.join("load.json"), serde_json::to_vec_pretty(&raw)?)?;
        if !floor.is_empty() {
            report::print_rounds("beside the floor", &report::BESIDE_FLOOR, &ours, &floor);
        }
        report::print_rounds("beside the embedder alone", &report::BESIDE_EMBEDDER, &ours, &alone);
        Ok(())
    }

    async fn beside_sql(&mut self, mut log: Log) -> Result<()> {
        eprintln!("recording statements");
        self.postgres.log_statements("all").await?;
        let scripts = self.record(&mut log).await;
        self.postgres.log_statements("none").await?;
        let scripts = scripts?;

        let server = self.start_server().await?;
        let product = Product::enter(&server, self.watched(&server), &namespace(1)).await?;
        let (mut sql, mut ours) = (Vec::new(), Vec::new());
        for round in 1..=self.args.rounds {
            eprintln!(
                "round {round} of {}: searches with cached vectors, and their statements",
                self.args.rounds
            );
            let (mut sql_figures, mut our_figures) = (Figures::new(), Figures::new());
            for (mode, scripts) in &scripts.searches {
                sql_figures.insert((*mode).to_owned(), self.replay(&log, scripts, MANY)?);
                our_figures
                    .insert((*mode).to_owned(), product.search_again(MANY, mode, &self.texts.queries).await?);
            }
            sql_figures.insert("list".to_owned(), self.replay(&log, slice::from_ref(&scripts.list), 1)?);
            our_figures.insert("list".to_owned(), product.get(LIST, REQUESTS).await?);
            our_figures.insert("livez".to_owned(), product.get(LIVEZ, REQUESTS).await?);
            sql.push(sql_figures);
            ours.push(our_figures);
        }
        report::print_rounds("beside pgbench with the same statements", &report::BESIDE_SQL, &ours, &sql);
        report::print_times(
            "time of a request over that of a list's statements, 1 client",
            &report::OVERHEAD,
            &ours,
            &sql,
        );
        Ok(())
    }

    /// Makes each request once on a server whose statements are logged.
    async fn record(&self, log: &mut Log) -> Result<Scripts> {
        let server = self.start_server().await?;
        let namespace = server.stack.enter(&namespace(1)).await?;
        let folder = self.args.folder.join("sql");
        fs::create_dir_all(&folder)?;
        let mut searches = Vec::new();
        for mode in product::MODES {
            let mut scripts = Vec::new();
            for (index, query) in self.texts.queries.iter().take(REPLAYED).enumerate() {
                // The first time, the server also looks up what it keeps in memory from then on.
                product::search(&namespace, mode, query).await?;
                let script = folder.join(format!("{mode}-{index}.sql"));
                scripts.push(log.record(script, product::search(&namespace, mode, query)).await?);
            }
            searches.push((mode, scripts));
        }
        product::get(&namespace, LIST).await?;
        let list = log.record(folder.join("list.sql"), product::get(&namespace, LIST)).await?;
        Ok(Scripts { searches, list })
    }

    fn replay(&self, log: &Log, scripts: &[PathBuf], clients: usize) -> Result<Phase> {
        let database = self.postgres.app_url(postgres::PRODUCT);
        pgbench::replay(&self.args.pgbench, &database, log, scripts, clients)
    }

    async fn start_server(&self) -> Result<Server> {
        let database = postgres::PRODUCT;
        let (app, admin) = (self.postgres.app_url(database), self.postgres.admin_url(database));
        Server::start(&self.args.folder, &app, &admin, &self.model_dir).await
    }

    async fn working(&self) -> Result<()> {
        working::check(&self.config.redis)?;
        let server = self.start_server().await?;
        let env_file = self.args.folder.join(".dev/env");
        let (tool, prefix) = (self.args.redis_benchmark.clone(), server::REDIS_PREFIX.to_owned());
        let watched = self.watched(&server);
        working::Working::new(tool, &self.config.redis, prefix, &env_file, watched)?.run().await
    }

    fn watched(&self, server: &Server) -> Watched {
        Watched { server: Some(server.pid()), postgres: self.postgres.pid }
    }
}

fn namespace(round: usize) -> String {
    format!("round-{round}")
}
