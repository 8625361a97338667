//! Captures and jobs, as tests use them most.

use serde_json::{Value, json};

use super::app::TestApp;
use super::client::Client;

impl Client {
    /// Captures a text, and gives the id of its job.
    pub async fn capture(&self, content: &str) -> String {
        let taken = self.post("/v1/memory/capture", json!({ "task_content": content })).await.expect(202);
        taken["job_id"].as_str().unwrap().to_owned()
    }

    /// A job.
    pub async fn job(&self, id: &str) -> Value {
        self.get(&format!("/v1/memory/jobs/{id}")).await.expect(200)["job"].clone()
    }
}

impl TestApp {
    /// Does the jobs that are due. Gives how many attempts that took.
    pub async fn work(&self) -> usize {
        memtide::job::work(&self.app).await
    }

    /// Captures a text for this caller, and gives its job once it is done.
    pub async fn captured(&self, client: &Client, content: &str) -> Value {
        let id = client.capture(content).await;
        self.work().await;
        let job = client.job(&id).await;
        assert_eq!(job["status"], "done", "{job}");
        job
    }
}
