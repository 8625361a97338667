//! The operator's API of jobs.

use axum::extract::State;
use axum::http::Method;
use axum::routing::{get, post};

use super::admin::id;
use super::caller::OperatorCaller;
use super::extract::{Json, Path, Query};
use super::route::{Needs, Route};
use crate::app::App;
use crate::error::Result;
use crate::job::admin::{self, AdminJob, AdminJobReply, JobQuery};
use crate::page::Page;

/// The routes of this file.
pub const ROUTES: &[Route] = &[
    Route::new(
        Method::GET,
        "/v1/admin/jobs",
        Needs::Operator,
        "List the jobs of all tenants, newest first",
        || get(list),
    )
    .asks::<JobQuery>()
    .gives::<Page<AdminJob>>(),
    Route::new(
        Method::POST,
        "/v1/admin/jobs/{id}/retry",
        Needs::Operator,
        "Try a job again that was given up",
        || post(retry),
    )
    .gives::<AdminJobReply>(),
];

async fn list(
    State(app): State<App>,
    OperatorCaller(permit): OperatorCaller,
    Query(query): Query<JobQuery>,
) -> Result<Json<Page<AdminJob>>> {
    admin::list(&app, &permit, query).await.map(Json)
}

async fn retry(
    State(app): State<App>,
    OperatorCaller(permit): OperatorCaller,
    Path(job): Path<String>,
) -> Result<Json<AdminJobReply>> {
    let job = admin::retry(&app, &permit, id(&job)?).await?;
    Ok(Json(AdminJobReply { job }))
}
