//! Logs, traces and metrics leave the process here.

use std::time::Duration;

use metrics_exporter_prometheus::{Matcher, PrometheusBuilder, PrometheusHandle};
use opentelemetry::trace::TracerProvider;
use opentelemetry_otlp::WithExportConfig;
use opentelemetry_sdk::trace::SdkTracerProvider;
use tracing_subscriber::layer::SubscriberExt;
use tracing_subscriber::util::SubscriberInitExt;
use tracing_subscriber::{EnvFilter, Layer};

use crate::config::Telemetry;

/// From half a millisecond to the deadline.
const LATENCY_BUCKETS: [f64; 12] = [0.0005, 0.001, 0.002, 0.005, 0.01, 0.02, 0.05, 0.1, 0.25, 1.0, 2.5, 10.0];

/// Ends the export of traces when it is dropped.
#[derive(Debug, Default)]
pub struct Traces(Option<SdkTracerProvider>);

/// Starts logging, and the export of traces if an endpoint is given.
pub fn start(config: &Telemetry) -> anyhow::Result<Traces> {
    let filter = EnvFilter::try_new(&config.filter)?;
    let output = tracing_subscriber::fmt::layer().with_writer(std::io::stderr);
    let logs = if config.json { output.json().flatten_event(true).boxed() } else { output.boxed() };
    let traces = config.otlp_endpoint.as_deref().map(tracer).transpose()?;
    let layer =
        traces.as_ref().map(|traces| tracing_opentelemetry::layer().with_tracer(traces.tracer("memtide")));
    tracing_subscriber::registry().with(filter).with(layer).with(logs).try_init()?;
    Ok(Traces(traces))
}

fn tracer(endpoint: &str) -> anyhow::Result<SdkTracerProvider> {
    // The exporter builds its HTTP client itself. It is no fault if somebody has chosen before.
    let _ = rustls::crypto::ring::default_provider().install_default();
    let exporter = opentelemetry_otlp::SpanExporter::builder()
        .with_http()
        .with_endpoint(format!("{}/v1/traces", endpoint.trim_end_matches('/')))
        .with_timeout(Duration::from_secs(5))
        .build()?;
    let resource = opentelemetry_sdk::Resource::builder().with_service_name("memtide").build();
    Ok(SdkTracerProvider::builder().with_batch_exporter(exporter).with_resource(resource).build())
}

impl Drop for Traces {
    fn drop(&mut self) {
        if let Some(Err(error)) = self.0.as_ref().map(SdkTracerProvider::shutdown) {
            eprintln!("the last traces were not exported: {error}");
        }
    }
}

/// Makes the recorder of metrics, whose handle renders them.
pub fn metrics() -> anyhow::Result<PrometheusHandle> {
    let latency = Matcher::Suffix("_seconds".to_owned());
    Ok(PrometheusBuilder::new().set_buckets_for_metric(latency, &LATENCY_BUCKETS)?.install_recorder()?)
}
