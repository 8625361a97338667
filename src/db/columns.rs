//! Lists of rows as statements take them: a list for each column, for `unnest`.

use uuid::Uuid;

use crate::id::{Id, TenantId};

/// Where rows of many tenants are: tenant, namespace, id.
pub fn columns<K>(places: &[(TenantId, i32, Id<K>)]) -> (Vec<Uuid>, Vec<i32>, Vec<Uuid>) {
    let tenants = places.iter().map(|(tenant, ..)| tenant.uuid()).collect();
    let namespaces = places.iter().map(|(_, ns, _)| *ns).collect();
    let ids = places.iter().map(|(.., id)| id.uuid()).collect();
    (tenants, namespaces, ids)
}
